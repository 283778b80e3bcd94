"""Tensors as bits: every wire form is made from the raw bytes of the V2 binary form, and read back into them.

Raw bytes are the measure of the suite: two tensors are equal when datatype, shape and raw bytes are.
"""
import base64
import json
import struct
from dataclasses import dataclass

import ml_dtypes
import numpy

DTYPES = {"BOOL": numpy.bool_, "UINT8": numpy.uint8, "UINT16": numpy.uint16, "UINT32": numpy.uint32, "UINT64": numpy.uint64,
          "INT8": numpy.int8, "INT16": numpy.int16, "INT32": numpy.int32, "INT64": numpy.int64, "FP16": numpy.float16,
          "FP32": numpy.float32, "FP64": numpy.float64, "BF16": ml_dtypes.bfloat16}
FLOATS = ("FP16", "BF16", "FP32", "FP64")

# The field of InferTensorContents that has a datatype's elements. FP16 and BF16 have none.
TYPED_FIELDS = {"BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
                "UINT64": "uint64_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
                "INT64": "int64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents"}


class Token(str):
    """A number or bare word as it stands in a JSON text."""


@dataclass(frozen=True)
class Tensor:
    """A named tensor in the V2 binary form: little-endian elements; BYTES as 4-byte length and bytes each."""
    name: str
    datatype: str
    shape: tuple
    raw: bytes

    def elements(self):
        """The elements as Python values: numpy scalars, or bytes for BYTES."""
        if self.datatype != "BYTES":
            return list(numpy.frombuffer(self.raw, DTYPES[self.datatype]))
        found, at = [], 0
        while at < len(self.raw):
            size, = struct.unpack_from("<I", self.raw, at)
            found.append(self.raw[at + 4:at + 4 + size])
            at += 4 + size
        return found

    def bits(self):
        """What must be equal on every wire, in a form that reads well in a report."""
        return f"{self.datatype}{list(self.shape)} {self.raw.hex()}"


def pack(datatype, values):
    """Raw bytes of Python values."""
    if datatype == "BYTES":
        return b"".join(struct.pack("<I", len(value)) + value for value in values)
    return numpy.array(list(values), DTYPES[datatype]).tobytes()


def tensor(name, datatype, shape, values):
    return Tensor(name, datatype, tuple(shape), pack(datatype, values))


def shortest(datatype, value):
    """The decimal with the fewest digits that reads back as the same value of the datatype."""
    if not numpy.isfinite(numpy.float64(value)):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(float(value))]
    if value == 0:
        return "-0.0" if numpy.signbit(value) else "0.0"
    for digits in range(1, 18):
        text = f"{float(value):.{digits}g}"
        with numpy.errstate(over="ignore"):
            if DTYPES[datatype](float(text)).tobytes() == value.tobytes():
                return text
    raise ValueError(value)


def significant(text):
    """The number of significant digits of a JSON number."""
    mantissa = text.lower().lstrip("-").split("e")[0].replace(".", "")
    return len(mantissa.strip("0")) or 1


def to_json(datatype, raw):
    """The elements of a tensor as flat JSON data."""
    elements = Tensor("", datatype, (), raw).elements()
    if datatype == "BYTES":
        return [element.decode() for element in elements]
    if datatype == "BOOL":
        return [bool(element) for element in elements]
    if datatype in FLOATS:
        return [Token(shortest(datatype, element)) for element in elements]
    return [int(element) for element in elements]


def nest(flat, shape):
    """Flat data, nested as the shape says."""
    if len(shape) <= 1:
        return flat
    step = len(flat) // shape[0] if shape[0] else 0
    return [nest(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def flatten(data):
    if isinstance(data, list):
        return [leaf for part in data for leaf in flatten(part)]
    return [data]


def from_json(datatype, data, content_type=None):
    """Raw bytes of JSON data whose numbers are Tokens. A form that the datatype has not is an AssertionError."""
    leaves = flatten(data)
    if datatype == "BYTES":
        assert all(isinstance(leaf, str) and not isinstance(leaf, Token) for leaf in leaves), \
            f"BYTES data is {leaves[:4]!r}, expected strings"
        decode = base64.b64decode if content_type in ("base64", "b64") else str.encode
        return pack(datatype, [decode(leaf) for leaf in leaves])
    if datatype == "BOOL":
        assert all(isinstance(leaf, bool) for leaf in leaves), f"BOOL data is {leaves[:4]!r}, expected true and false"
        return pack(datatype, leaves)
    read = float if datatype in FLOATS else int
    for leaf in leaves:
        assert isinstance(leaf, Token), f"{datatype} data is {leaf!r}, expected a number"
        try:
            read(leaf)
        except ValueError:
            raise AssertionError(f"{datatype} data is {leaf!r}, expected {read.__name__}") from None
    try:
        return pack(datatype, [read(leaf) for leaf in leaves])
    except OverflowError:
        raise AssertionError(f"{datatype} data is {leaves[:4]}, expected values in the datatype's range") from None


def render(value):
    """JSON text of a value; a Token is written as it stands."""
    if isinstance(value, Token):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(key) + ":" + render(part) for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(render, value)) + "]"
    return json.dumps(value)


def parse(text, pairs=None):
    """JSON with its numbers as Tokens, so that their text can be judged. pairs makes an object of its members."""
    return json.loads(text, parse_int=Token, parse_float=Token, parse_constant=Token, object_pairs_hook=pairs)


# Four elements of each datatype, [2,2]: extremes, and what goes wrong when a value takes a detour over another type.
SAMPLES = {
    "BOOL": [True, False, False, True],
    "UINT8": [0, 1, 200, 255], "UINT16": [0, 1, 60000, 65535], "UINT32": [0, 1, 4000000000, 2**32 - 1],
    "UINT64": [0, 2**53 + 1, 2**63, 2**64 - 1],
    "INT8": [-128, -1, 1, 127], "INT16": [-32768, -1, 1, 32767], "INT32": [-2**31, -1, 1, 2**31 - 1],
    "INT64": [-2**63, -1, 2**53 + 1, 2**63 - 1],
    "FP16": [0.1, -0.0, 6e-8, 65504.0], "BF16": [0.1, -0.0, 1e-40, 3.3895314e38],
    "FP32": [0.1, -0.0, 1e-45, 3.4028235e38], "FP64": [0.1, -0.0, 5e-324, 1.7976931348623157e308],
    "BYTES": [b"", "h\u00e9".encode(), "\U0001f600 \"\\/".encode(), b"a\x00b\n"],
}
