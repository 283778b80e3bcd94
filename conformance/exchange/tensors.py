"""The output tensors of a REST or gRPC response as name, datatype, shape and raw little-endian bytes.

Uses no code of the gateway: numpy encodes the bytes, tritonclient's protobuf classes parse the messages.
"""
import base64
import decimal
import gzip
import json
import struct
import zlib

import ml_dtypes
import numpy

import record
from exchange.answers import message_class

TYPES = {
    "BOOL": numpy.bool_, "UINT8": numpy.uint8, "UINT16": numpy.uint16, "UINT32": numpy.uint32, "UINT64": numpy.uint64,
    "INT8": numpy.int8, "INT16": numpy.int16, "INT32": numpy.int32, "INT64": numpy.int64, "FP16": numpy.float16,
    "BF16": ml_dtypes.bfloat16, "FP32": numpy.float32, "FP64": numpy.float64,
}
FLOATS = ("FP16", "BF16", "FP32", "FP64")
CONTENTS = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip
WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"), None: float("nan")}


def flat(data):
    for element in data:
        if isinstance(element, list):
            yield from flat(element)
        else:
            yield element


def framed(element):
    return struct.pack("<I", len(element)) + element


def packed(datatype, elements, base64_text=False):
    """The raw form, or None if these are not elements of the datatype."""
    try:
        if datatype == "BYTES":
            text = [e if isinstance(e, bytes) else e.encode("utf-8", "surrogateescape") for e in elements]
            return b"".join(framed(base64.b64decode(t, validate=True) if base64_text else t) for t in text)
        if datatype in FLOATS:
            if any(isinstance(e, bool) for e in elements):
                return None
            elements = [WORDS[e] if e is None or isinstance(e, str) else float(e) for e in elements]
        elif any(type(e) is not (bool if datatype == "BOOL" else int) for e in elements):
            return None
        with numpy.errstate(over="ignore"):
            return numpy.array(elements, dtype=TYPES[datatype]).tobytes()
    except (KeyError, ValueError, OverflowError, TypeError, AttributeError):
        return None


def tensor(name, datatype, shape, raw, data=None):
    """`raw` is in hex; invalid data is kept as it is."""
    return {"name": name, "datatype": datatype, "shape": shape, "raw": raw.hex() if raw is not None else repr(data)}


def plain(parameters):
    return {k: v for k, v in (parameters or {}).items() if k != "binary_data_size"}


def unpacked(tensors, tail):
    """The tensors of a JSON head, each with its bytes from the head or the tail; and the unused rest of the tail."""
    found = []
    for t in tensors:
        parameters = t.get("parameters") or {}
        size, data = parameters.get("binary_data_size"), t.get("data")
        if data is None and type(size) is int:
            raw, tail = tail[:size], tail[size:]
        else:
            elements = list(flat(data if isinstance(data, list) else [data]))
            raw = packed(t["datatype"], elements, parameters.get("content_type") in ("base64", "b64"))
        found.append(tensor(t["name"], t["datatype"], list(t["shape"]), raw, data))
    return found, tail


def from_rest(answer):
    """The result of rest_answer as status, id, model, parameters and tensors."""
    body = answer.get("body")
    if answer["status"] != 200 or not isinstance(body, dict) or "outputs" not in body:
        return {"status": answer["status"], "error": body}
    try:
        outputs, tail = unpacked(body["outputs"], bytes.fromhex(answer["tail"]))
    except (KeyError, TypeError, AttributeError):
        return {"status": "broken", "error": body}
    return {
        "status": 200, "id": body.get("id") or "", "model_name": body.get("model_name"),
        "model_version": body.get("model_version") or "", "parameters": plain(body.get("parameters")),
        "outputs": outputs, "tail": tail.hex(),
    }  # fmt: skip


def exact(text):
    """Keeps 9007199254740993.0 as an integer, not as the nearest double."""
    number = decimal.Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number) < 2**64 else float(text)


def asked(request):
    """The input tensors of a REST request with exact numbers, or None if it has no valid ones."""
    headers = {k.lower(): v for k, v in request["headers"].items()}
    length = headers.get("inference-header-content-length")
    raw = record.dec(request["body"]) or b""
    unpack = {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(headers.get("content-encoding"), bytes)
    try:
        raw = unpack(raw)
        size = len(raw) if length is None else int(length)
        head = json.loads(raw[:size], parse_float=exact)
        return unpacked(head["inputs"], raw[size:])[0]
    except (OSError, zlib.error, ValueError, KeyError, TypeError):
        return None


def from_grpc(response):
    """The recorded response of a ModelInfer as status, id, model, parameters and tensors."""
    if response["code"] != "OK":
        return {"status": response["code"], "error": response["details"]}
    m = message_class("ModelInfer").FromString(base64.b64decode(response["b64"]))
    outputs = []
    raws = list(m.raw_output_contents)
    for o in m.outputs:
        if raws:
            raw, data = raws.pop(0), None
        else:
            data = list(getattr(o.contents, CONTENTS.get(o.datatype, ""), ()))
            raw = packed(o.datatype, data)
        outputs.append(tensor(o.name, o.datatype, list(o.shape), raw, data))
    values = {k: getattr(p, p.WhichOneof("parameter_choice") or "", None) for k, p in m.parameters.items()}
    return {
        "status": 200, "id": record.mask(m.id), "model_name": m.model_name, "model_version": m.model_version,
        "parameters": plain(values), "outputs": outputs, "tail": b"".join(raws).hex(),
    }  # fmt: skip
