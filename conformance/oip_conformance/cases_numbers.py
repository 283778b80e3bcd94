"""Numbers in JSON, parsed and printed: R12, R13 (NaN, Infinity, null) and R14 (FP16, BF16)."""
import numpy

from .cases import Chapter
from .client import NotApplicable, binary_body, expect, pb
from .tensors import DTYPES, FLOATS, Token, flatten, pack, parse, shortest, significant, tensor

CHAPTER = Chapter("numbers")
case, each = CHAPTER.case, CHAPTER.each

RANGES = {"INT8": (-2**7, 2**7 - 1), "INT16": (-2**15, 2**15 - 1), "INT32": (-2**31, 2**31 - 1), "INT64": (-2**63, 2**63 - 1),
          "UINT8": (0, 2**8 - 1), "UINT16": (0, 2**16 - 1), "UINT32": (0, 2**32 - 1), "UINT64": (0, 2**64 - 1)}


def comes_back(t, datatype, data, values):
    """Data in JSON is returned as these values or these raw bytes."""
    echo = t.models.echo(datatype)
    wanted = values if isinstance(values, bytes) else pack(datatype, values)
    output = t.send(echo, data).result()[echo.output]
    expect("datatype", output.datatype, datatype)
    expect("bits of the output", output.raw[:len(wanted)].hex(), wanted.hex())


def is_refused(t, datatype, data):
    """A value that the datatype has not: 400."""
    t.send(t.models.echo(datatype), data).refused(400)


each("R12", "limits", {f"{d}": (d, list(limits), list(limits)) for d, limits in RANGES.items()})(comes_back)

each("R12", "out-of-range", {
    **{f"{d}.above": (d, [Token(str(high + 1))]) for d, (_, high) in RANGES.items()},
    **{f"{d}.below": (d, [Token(str(low - 1))]) for d, (low, _) in RANGES.items()},
    **{f"{d}.enormous": (d, [Token("1" + "0" * 40)]) for d in ("INT8", "INT64", "UINT64")},
    "INT64.exponent": ("INT64", [Token("1e300")]), "INT32.exponent": ("INT32", [Token("1e10")])})(is_refused)

each("R12", "integer-with-fraction-zero", {d: (d, [Token("1.0"), Token("100.0")], [1, 100]) for d in RANGES})(comes_back)
each("R12", "integer", {
    "negative-with-fraction-zero": ("INT32", [Token("-3.0")], [-3]), "minus-zero": ("INT32", [Token("-0")], [0]),
    "exact-beyond-double": ("INT64", [Token("9007199254740993")], [2**53 + 1]),
    "exact-beyond-double-negative": ("INT64", [Token("-9007199254740993")], [-2**53 - 1]),
    "unsigned-exact-beyond-double": ("UINT64", [Token("18446744073709551557")], [18446744073709551557])})(comes_back)

_WRONG = {"text": "1", "bool": True, "null": None, "object": {}, "fraction": Token("1.5"), "small-fraction": Token("1e-5"),
          "nan": Token("NaN"), "infinity": Token("Infinity"), "leading-zero": Token("01"), "plus": Token("+1"),
          "hexadecimal": Token("0x10"), "bare-point": Token("1."), "no-digit": Token("-")}
each("R12", "integer-refused", {f"{d}.{key}": (d, [value]) for d in ("INT32", "UINT8", "INT64")
                                for key, value in _WRONG.items()})(is_refused)
each("R12", "bool-refused", {"one": ("BOOL", [1]), "zero": ("BOOL", [0]), "text": ("BOOL", ["true"]), "null": ("BOOL", [None]),
                             "two": ("BOOL", [2]), "capital": ("BOOL", [Token("True")])})(is_refused)
each("R12", "float-refused", {
    **{f"{d}.{key}": (d, [value]) for d in ("FP32", "FP64") for key, value in
       {"text": "1.5", "empty-text": "", "bool": True, "object": {}, "leading-zero": Token("01.5"), "bare-point": Token(".5"),
        "lower-case-nan": Token("nan"), "underscore": Token("1_0")}.items()},
    "FP32.overflow": ("FP32", [Token("1e40")]), "FP32.overflow-negative": ("FP32", [Token("-1e40")]),
    "FP32.just-over": ("FP32", [Token("3.5e38")]), "FP32.beyond-double": ("FP32", [Token("1e400")]),
    "FP64.overflow": ("FP64", [Token("1e400")]), "FP64.overflow-negative": ("FP64", [Token("-1e400")])})(is_refused)

each("R12", "float", {
    "FP32.nearest": ("FP32", [Token("0.1")], bytes.fromhex("cdcccc3d")),
    "FP32.not-over-double": ("FP32", [Token("1.00000005960464477539062500000000000001")], bytes.fromhex("0100803f")),
    "FP32.tie-to-even": ("FP32", [Token("1.000000059604644775390625")], bytes.fromhex("0000803f")),
    "FP32.long": ("FP32", [Token("0.1000000014901161193847656250001")], bytes.fromhex("cdcccc3d")),
    "FP32.max": ("FP32", [Token("3.4028234663852886e38")], bytes.fromhex("ffff7f7f")),
    "FP32.denormal": ("FP32", [Token("1e-45")], bytes.fromhex("01000000")),
    "FP32.to-zero": ("FP32", [Token("1e-60")], bytes(4)),
    "FP32.minus-zero": ("FP32", [Token("-0.0")], bytes.fromhex("00000080")),
    "FP32.minus-zero-integer": ("FP32", [Token("-0")], bytes.fromhex("00000080")),
    "FP32.integer": ("FP32", [Token("16777217")], bytes.fromhex("0000804b")),
    "FP32.exponent": ("FP32", [Token("1E+2")], bytes.fromhex("0000c842")),
    "FP64.nearest": ("FP64", [Token("0.1")], bytes.fromhex("9a9999999999b93f")),
    "FP64.denormal": ("FP64", [Token("5e-324")], bytes.fromhex("0100000000000000")),
    "FP64.hard": ("FP64", [Token("2.2250738585072011e-308")], bytes.fromhex("ffffffffffff0f00")),
    "FP64.minus-zero": ("FP64", [Token("-0.0")], bytes.fromhex("0000000000000080"))})(comes_back)

def printed(t, datatype, values):
    """A float is printed with the fewest digits that parse to the same float."""
    echo = t.models.echo(datatype)
    data = [Token(shortest(datatype, DTYPES[datatype](value))) for value in values]
    response = parse(t.send(echo, data).ok().text())
    found = flatten(response["outputs"][0]["data"])
    for token, value in zip(found, values):
        value = DTYPES[datatype](value)
        expect(f"value of {token}", DTYPES[datatype](float(token)), value)
        least = significant(shortest(datatype, value))
        assert significant(token) <= least, f"{datatype} {value!r} is printed as {token}, expected {least} digits"


each("R12", "shortest", {
    "FP32": ("FP32", [0.1, 1 / 3, 16777216.0, 3.4028235e38, 1.17549435e-38, 123456.79, -2.5e-5]),
    "FP64": ("FP64", [0.1, 1 / 3, 1.7976931348623157e308, 123456789.123456789, -2.5e-5]),
    "FP32.denormal": ("FP32", [1e-45]), "FP64.denormal": ("FP64", [5e-324])})(printed)
each("R14", "shortest", {"FP16": ("FP16", [0.1, 1 / 3, 65504.0, 6e-8]),
                         "BF16": ("BF16", [0.1, 1 / 3, 3.3895314e38, 1e-40])})(printed)


# ---------------------------------------------------------------- NaN, Infinity, null

_NAN = {"token": [Token("NaN"), Token("Infinity"), Token("-Infinity")], "text": ["NaN", "Infinity", "-Infinity"]}


@each("R13", "in", {f"{form}.{d}": (d, data) for d in FLOATS for form, data in _NAN.items()})
def not_finite_in(t, datatype, data):
    """NaN and infinities may be written as bare words or as texts."""
    echo = t.models.echo(datatype)
    output = t.infer_json_binary(echo, data)
    expect("values", [str(float(v)) for v in output.elements()], ["nan", "inf", "-inf"])


@each("R13", "in.null", {d: d for d in FLOATS})
def null_in(t, datatype):
    """null is NaN for floats."""
    output = t.infer_json_binary(t.models.echo(datatype), [None, 1])
    expect("values", [str(float(v)) for v in output.elements()], ["nan", "1.0"])


each("R13", "null-refused", {d: (d, [None]) for d in ("BOOL", "INT8", "UINT64", "BYTES")})(is_refused)

_INPUT = [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]
_SPECIAL = ["NaN", "Infinity", "-Infinity"]


@case("R13", "out.token")
def special_token(t):
    """A model's NaN and infinities are written as bare words, and the rest of the response is correct."""
    model = t.models.need("special")
    output = parse(t.rest.post(f"/v2/models/{model}/infer", {"inputs": _INPUT}).ok().text())["outputs"][0]
    data = flatten(output["data"])
    expect("first three elements", data[:3], _SPECIAL)
    expect("sign of -0.0", str(data[3])[:1], "-")
    expect("denormal", float(numpy.float32(data[4])), float(numpy.float32(1e-45)))


@each("R13", "out.bits", {"binary-out": "binary-out", "grpc-raw": "grpc-raw"})
def special_bits(t, form):
    """NaN, infinities, -0.0 and denormals of a model arrive bit by bit."""
    output = t.infer(form, t.models.need("special"), [tensor("INPUT0", "INT32", (1,), [1])])["OUTPUT0"]
    expect("bits", output.raw.hex(), "0000c07f" + "0000807f" + "000080ff" + "00000080" + "01000000" + "ffff7f7f" + "cdcccc3d")


@each("R13", "out.echo", {d: d for d in FLOATS})
def echo_token(t, datatype):
    """NaN and infinities are returned as bare words."""
    echo = t.models.echo(datatype)
    response = parse(t.send(echo, _NAN["token"]).ok().text())
    expect("data", flatten(response["outputs"][0]["data"]), _SPECIAL)


_PAYLOADS = {"FP32": "0100c07f4523c1ff", "FP64": "010000000000f87f452300000000f8ff", "FP16": "017e23fe", "BF16": "c17fe3ff"}


@each("R13", "payload", {f"{form}.{d}": (form, d, raw) for form in ("binary", "grpc-raw") for d, raw in _PAYLOADS.items()})
def payload(t, form, datatype, raw):
    """The payload bits of NaN survive in binary forms."""
    if not t.models.keeps_bits:
        raise NotApplicable("the server's wire is JSON numbers, which have no NaN payload")
    echo = t.models.echo(datatype)
    inputs = echo.raw(bytes.fromhex(raw), 2)
    expect("bits", t.infer(form, echo.model, inputs)[echo.output].raw.hex(), raw)


@each("R13", "payload.out", {d: (d, raw) for d, raw in _PAYLOADS.items()})
def payload_out(t, datatype, raw):
    """JSON has one NaN, whatever the payload."""
    echo = t.models.echo(datatype)
    headers, body = binary_body(echo.raw(bytes.fromhex(raw), 2), parameters={"binary_data_output": False})
    response = parse(t.rest.post(echo.path + "/infer", body, headers).ok().text())
    expect("data", flatten(response["outputs"][0]["data"]), ["NaN", "NaN"])


# ---------------------------------------------------------------- FP16, BF16

each("R14", "nearest", {
    "FP16.third": ("FP16", [Token("0.333333333333333")], bytes.fromhex("5535")),
    "FP16.tie-to-even": ("FP16", [Token("2049")], bytes.fromhex("0068")),
    "FP16.tie-to-even-up": ("FP16", [Token("2051")], bytes.fromhex("0268")),
    "FP16.not-over-float": ("FP16", [Token("1.00048828125000000000001")], bytes.fromhex("013c")),
    "FP16.denormal": ("FP16", [Token("6e-8")], bytes.fromhex("0100")),
    "FP16.max": ("FP16", [Token("65504")], bytes.fromhex("ff7b")),
    "FP16.rounds-to-max": ("FP16", [Token("65519.9")], bytes.fromhex("ff7b")),
    "FP16.minus-zero": ("FP16", [Token("-0.0")], bytes.fromhex("0080")),
    "BF16.third": ("BF16", [Token("0.333333333333333")], bytes.fromhex("ab3e")),
    "BF16.tie-to-even": ("BF16", [Token("257")], bytes.fromhex("8043")),
    "BF16.tie-to-even-up": ("BF16", [Token("259")], bytes.fromhex("8243")),
    "BF16.denormal": ("BF16", [Token("1e-40")], bytes.fromhex("0100")),
    "BF16.not-over-float": ("BF16", [Token("1.00390625000000000000001")], bytes.fromhex("813f"))})(comes_back)
each("R14", "refused", {"FP16.overflow": ("FP16", [Token("65520")]), "FP16.far-overflow": ("FP16", [Token("1e10")]),
                        "BF16.overflow": ("BF16", [Token("3.4e38")]), "BF16.far-overflow": ("BF16", [Token("1e40")]),
                        "FP16.text": ("FP16", ["1.5"]), "BF16.bool": ("BF16", [True])})(is_refused)


@each("R14", "grpc.typed-refused", {"FP16.fp32": ("FP16", "fp32_contents", 1.5), "BF16.fp32": ("BF16", "fp32_contents", 1.5),
                                    "FP16.bytes": ("FP16", "bytes_contents", b"\x00\x3e")})
def half_typed(t, datatype, kind, value):
    """These have no typed contents on gRPC."""
    echo = t.models.echo(datatype)
    request = pb.ModelInferRequest(model_name=echo.model)
    getattr(request.inputs.add(name=echo.input, datatype=datatype, shape=echo.shape(1)).contents, kind).append(value)
    t.grpc.refused("ModelInfer", request, "INVALID_ARGUMENT")
