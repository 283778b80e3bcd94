"""A response as comparable fields, and the differences between two responses."""
import base64
import decimal
import gzip
import json
import zlib
from dataclasses import dataclass

import record


@dataclass(frozen=True)
class Diff:
    """One difference. `field` is a path such as status, content-type, body.outputs[0].data[3], message.id."""

    field: str
    want: object
    got: object


@dataclass
class Exchange:
    """A recorded request to a server, with the recorded response and the gateway's."""

    server: str
    wire: str
    mode: str
    case: str
    request: dict
    want: dict
    got: dict

    @property
    def target(self):
        """The path, or the gRPC method."""
        return self.request["path"] if self.wire == "rest" else self.request["method"]

    @property
    def failure(self):
        """The message if the gateway's response is an error in our form, otherwise None."""
        if self.wire == "grpc":
            return self.got.get("details") or self.got.get("error") if self.got["status"] not in ("OK", 200) else None
        body = self.got.get("body", self.got.get("error"))
        return body["error"] if isinstance(body, dict) and set(body) == {"error"} and type(body["error"]) is str else None


ABSENT = "(absent)"


class Object(dict):
    """A JSON object that keeps duplicate keys visible."""

    def __init__(self, pairs):
        super().__init__(pairs)
        if len(self) != len(pairs):
            self["(pairs)"] = pairs


def parse_json(text):
    """JSON with integers as int, other numbers as exact decimals, and the words NaN and Infinity, which Triton writes."""
    return json.loads(text, object_pairs_hook=Object, parse_float=decimal.Decimal)


def header(response, name):
    values = [v for k, v in response["headers"] if k.lower() == name]
    return ", ".join(values) if values else None


def plain(response):
    """The body without its content encoding."""
    raw = record.dec(response["body"]) or b""
    unpack = {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(header(response, "content-encoding"))
    return unpack(raw) if unpack else raw


def rest_answer(response, case):
    """Fields of a REST response: status, content-type, encoding, binary (whether the header is present), body, tail."""
    if "broken" in response:
        return {"status": "broken", "body": response["broken"]}
    if case in record.STATUS_ONLY:
        return {"status": response["status"]}
    kind = header(response, "content-type")
    length = header(response, "inference-header-content-length")
    raw = plain(response)
    if length is not None and not (length.isdecimal() and int(length) <= len(raw)):
        return {"status": "broken", "body": "%d bytes with Inference-Header-Content-Length %r" % (len(raw), length)}
    head, tail = (raw, b"") if length is None else (raw[: int(length)], raw[int(length) :])
    # Triton writes BYTES that are not UTF-8 into its JSON unchanged: kept as surrogates
    text = record.UUID.sub(b"<uuid>", head).decode("utf-8", "surrogateescape")
    try:
        body = parse_json(text)
    except ValueError:
        body = text
    return {
        "status": response["status"],
        "content-type": kind and kind.split(";")[0].strip().lower(),
        "encoding": header(response, "content-encoding"),
        "binary": length is not None,
        "body": body,
        "tail": tail.hex(),
    }


def message_class(method):
    return getattr(record.pb, record.RESP.get(method, ""), None)


def message(method, b64):
    """A message with all its fields, including those unknown to the .proto."""
    raw = base64.b64decode(b64)
    shown = record.as_json(method, raw)
    if shown is None or "undecodable" in shown:
        return {"undecodable": raw.hex()}
    exact = message_class(method).FromString(raw).SerializeToString(deterministic=True)
    shown = json.loads(record.mask(json.dumps(shown)))
    return Object(list(shown.items()) + [("(bytes)", record.UUID.sub(b"<uuid>", exact).hex())])


def grpc_answer(response, method, case):
    """Fields of a gRPC response: status, details, message or messages."""
    if case in record.STATUS_ONLY:
        return {"status": response["code"]}
    answer = {"status": response["code"], "details": record.mask(response["details"] or "")}
    if "messages" in response:
        answer["messages"] = [message(method, m["b64"]) for m in response["messages"]]
    elif "b64" in response:
        answer["message"] = message(method, response["b64"])
    return answer


def same(a, b):
    """Equal in type and value: 1 is not 1.0, -0.0 is not 0.0, NaN is NaN."""
    if isinstance(a, decimal.Decimal) and isinstance(b, decimal.Decimal):
        return a == b and a.is_signed() == b.is_signed()
    return type(a) is type(b) and (repr(a) == repr(b) if isinstance(a, float) else a == b)


def differences(want, got, path=""):
    if isinstance(want, dict) and isinstance(got, dict):
        found = []
        for key in list(want) + [k for k in got if k not in want]:
            at = "%s.%s" % (path, key) if path else key
            if key not in want or key not in got:
                found.append(Diff(at, want.get(key, ABSENT), got.get(key, ABSENT)))
            else:
                found.extend(differences(want[key], got[key], at))
        # a difference in bytes is only reported if there is no other one
        seen = [d for d in found if not d.field.endswith("(bytes)")]
        return seen or found
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [d for i, pair in enumerate(zip(want, got)) for d in differences(*pair, "%s[%d]" % (path, i))]
    return [] if same(want, got) else [Diff(path, want, got)]
