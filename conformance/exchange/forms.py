"""Predicates of the rules: whether an exchange, or one difference, has an allowed form."""
import json
import math
import re
import urllib.parse

import numpy

from exchange import tensors
from exchange.answers import message_class

def refused(x, pattern):
    """The gateway refused with its own message; the server accepted the request or failed in any way."""
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
    return x.want["status"] in (400, 404, 501) and x.got["status"] == 400 and (x.failure or "").endswith(" is not ready")


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def server_text(body):
    """The message of an error in any server's form."""
    if isinstance(body, dict):
        body = body.get("error", body.get("detail"))
    return one_line(body) if isinstance(body, str) else None


def error_as_json(x, d):
    if x.want["status"] != x.got["status"] or x.want["status"] < 400:
        return False
    if d.field == "content-type":
        return d.want != d.got == "application/json"
    return d.field.split(".")[0] == "body" and x.failure is not None and x.failure.strip() == server_text(x.want["body"])


def method_not_allowed(x, d):
    """Also if the server does not have the path at all."""
    if x.want["status"] not in (404, 405) or x.got["status"] != 405 or x.failure != "Method Not Allowed":
        return False
    return d.field == "status" or d.field.startswith("body.") or d.field == "content-type" and d.got == "application/json"


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
    """Triton's response for the model 'simple', instead of not finding 's%69mple'."""
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


def without_version(x, d):
    """The server's response to the same request without a version."""
    if x.want.get("body") != {"error": "Model versioning not supported yet."} or x.want["status"] != 501:
        return False
    if x.target.endswith("/ready"):
        return not_ready(x, d)
    return x.got["status"] == 404 and x.failure == "Model with name versioned does not exist."


def small_and_plain(x, d):
    return d.field == "encoding" and d.got is None and len(json.dumps(x.got["body"], default=str)) + len(x.got["tail"]) < 1024


def floats(tensor):
    kind = tensors.TYPES[tensor["datatype"]]
    return numpy.frombuffer(bytes.fromhex(tensor["raw"]), kind).astype(numpy.float64)


def same_tensor(want, got, null_infinities):
    """The same bytes, with all NaNs equal, and with infinities where the record has null, which is read as NaN."""
    if want == got:
        return True
    if {**want, "raw": got["raw"]} != got or want["datatype"] not in tensors.FLOATS:
        return False
    pairs = list(zip(floats(want), floats(got)))
    return len(want["raw"]) == len(got["raw"]) and all(
        w == g and math.copysign(1, w) == math.copysign(1, g)
        or math.isnan(w) and (math.isnan(g) or null_infinities and math.isinf(g))
        for w, g in pairs
    )


def same_answer(x, d, null_infinities=False):
    """The rewritten response has the same tensors, id, model and parameters.

    An id that the server made up may go, and the parameter that is the gateway's own.
    """
    want, got = tensors.from_rest(x.want), tensors.from_rest(x.got)
    if want["status"] != 200 or got["status"] != 200:
        return False
    for side in (want, got):
        side["parameters"].pop("binary_data_output", None)
    if want["id"] == "<uuid>" and got["id"] == "":
        want["id"] = ""
    pairs = list(zip(want.pop("outputs"), got.pop("outputs"), strict=True))
    return want == got and all(same_tensor(w, g, null_infinities) for w, g in pairs)


def batch_of_one(x, d):
    """Two dimensions are variable, and the first one is the batch."""
    answer = x.got if x.mode == "cross" else tensors.from_rest(x.got)
    [output] = answer["outputs"]
    return (x.want["status"], x.got["status"]) == (400, 200) and [int(extent) for extent in output["shape"]] == [1, 29]


def null_was_infinity(x, d):
    return same_answer(x, d, null_infinities=True)


def exact_integers(x, d):
    """The model echoes its input, so the output is the requested integer, which the server read as a double."""
    sent, got = tensors.asked(x.request), tensors.from_rest(x.got)
    return x.want["status"] == got["status"] == 200 and sent == got["outputs"]


def error_in_band(x, d):
    [message] = x.got["messages"]
    return x.got["status"] == "OK" != x.want["status"] and message["error_message"] == x.want["details"]


def nothing_of_nothing(x, d):
    """A tensor without elements needs no data."""
    [output] = x.got["message"]["outputs"]
    return x.want["status"] == "INVALID_ARGUMENT" and x.got["status"] == "OK" and "0" in output["shape"]


def same_in_envelope(x, d):
    """The recorded message is a plain ModelInferResponse; the gateway's is the same in Triton's envelope."""
    bare, envelope = message_class("ModelInfer"), message_class("ModelStreamInfer")
    want = [bare.FromString(bytes.fromhex(m["(bytes)"])) for m in x.want["messages"]]
    got = [envelope.FromString(bytes.fromhex(m["(bytes)"])) for m in x.got["messages"]]
    return want == [m.infer_response for m in got] and not any(m.error_message for m in got)


def in_another_order(x, d):
    want, got = (sorted(m["(bytes)"] for m in side["messages"]) for side in (x.want, x.got))
    return x.want["status"] == x.got["status"] and want == got


def truth(tensor):
    """Every byte other than 0 is true."""
    if tensor["datatype"] != "BOOL":
        return tensor
    return dict(tensor, raw=bytes(b != 0 for b in bytes.fromhex(tensor["raw"])).hex())


def echo(x, d):
    """The server refused the request; through the gateway, its model echoes exactly the requested tensors."""
    if x.want["status"] not in (400, 422, 500) or x.got["status"] != 200:
        return False
    sent = tensors.asked(x.request)
    answer = x.got if x.mode == "cross" else tensors.from_rest(x.got)
    return sent is not None and [truth(t) for t in sent] == [dict(t, name=s["name"]) for t, s in zip(answer["outputs"], sent)]
