"""The forms that a wanted difference may have: tests of an exchange, and of one difference, for the rules."""
import re
import urllib.parse

from exchange import tensors

def refused(x, pattern):
    """Our refusal, with our reason. A server that accepted it or failed on it, in whatever way, is the other half."""
    ours = (400,) if x.wire == "rest" else ("INVALID_ARGUMENT",)
    return x.got["status"] in ours and x.failure is not None and bool(pattern.search(x.failure))


def health_body(x, d):
    name = re.fullmatch(r"/v2/models/([^/]+)(/versions/[^/]+)?/ready", x.target)
    ours = {"name": urllib.parse.unquote(name[1]), "ready": True} if name else {x.target.split("?")[0].split("/")[-1]: True}
    return (
        x.want["status"] == x.got["status"] == 200
        and x.want["body"] == ""
        and x.got["body"] == ours
        and (d.field == "body" or d.field == "content-type" and d.got == "application/json")
    )


def not_ready(x, d):
    if x.wire == "grpc":
        return x.want["status"] in ("NOT_FOUND", "UNKNOWN", "INVALID_ARGUMENT") and (
            x.got["status"] == "OK" and x.got["message"] == {"(bytes)": ""}
        )
    name = x.target.split("/")[3]
    return x.want["status"] in (400, 404) and x.got["status"] == 400 and x.got["body"] == {"name": name, "ready": False}


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def server_text(body):
    """The text of an error in any server's form."""
    if isinstance(body, dict):
        body = body.get("error", body.get("detail"))
    return one_line(body) if isinstance(body, str) else None


def error_as_json(x, d):
    if x.want["status"] != x.got["status"] or x.want["status"] < 400:
        return False
    if d.field == "content-type":
        return d.want != d.got == "application/json"
    return d.field.split(".")[0] == "body" and x.failure is not None and x.failure.strip() == server_text(x.want["body"])


def method_message(x, d):
    if x.want["status"] != 405 or x.got["status"] != 405:
        return False
    said = re.fullmatch(r"method (GET|POST) is expected here, got %s" % x.request["method"], x.failure or "")
    return bool(said) and (d.field.startswith("body.") or d.field == "content-type" and d.got == "application/json")


def unprocessable(x, d):
    if (x.want["status"], x.got["status"]) != (422, 400):
        return False
    first = x.want["body"]["detail"][0]
    return x.failure == "%s: %s" % (".".join(str(part) for part in first["loc"]), first["msg"])


def model_folder(x, d):
    if d.field not in ("body.error", "details"):
        return False
    name = re.compile(r"\S*?/(\w+/\d+/model\.py)")
    want, got = (name.sub(r"MODELS/\1", text) for text in (d.want, d.got))
    return want == got if x.wire == "grpc" else one_line(want) == one_line(got)


def simple_metadata(x, d):
    """Triton's answer for the model 'simple', where it knew no 's%69mple'."""
    sixteen = [{"name": "INPUT%d" % i, "datatype": "INT32", "shape": [-1, 16]} for i in (0, 1)]
    body = x.got["body"]
    return (x.want["status"], x.got["status"]) == (404, 200) and (body["name"], body["inputs"]) == ("simple", sixteen)


def own_metadata(x, d):
    part = d.field.split("[")[0].split(".")[-1]
    if part not in ("name", "version", "extensions", "(bytes)"):
        return False
    return x.got.get("body", x.got.get("message"))["name"] == "isthmus"


def unknown_encoding(x, d):
    coding = {k.lower(): v for k, v in x.request["headers"].items()}.get("content-encoding")
    return coding == "br" and x.got["status"] == 415 and x.failure is not None and "'br'" in x.failure


def truth(tensor):
    """Every byte but 0 is true."""
    if tensor["datatype"] != "BOOL":
        return tensor
    return dict(tensor, raw=bytes(b != 0 for b in bytes.fromhex(tensor["raw"])).hex())


def echo(x, d):
    """The server refused what it could not read; through the gateway its model echoes exactly what was asked."""
    if x.want["status"] not in (400, 422, 500) or x.got["status"] != 200:
        return False
    sent = tensors.asked(x.request)
    answer = x.got if x.mode == "cross" else tensors.from_rest(x.got)
    return sent is not None and [truth(t) for t in sent] == answer.get("outputs")
