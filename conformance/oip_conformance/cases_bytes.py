"""BYTES: text, escapes, base64, and bytes that are not text. R15."""
import base64

from .cases import Chapter
from .client import binary_body, expect, framed, grpc_request
from .tensors import Tensor, Token, flatten, pack, parse, tensor

CHAPTER = Chapter("bytes")
case, each = CHAPTER.case, CHAPTER.each


def echoed(t, data, values, **changes):
    """JSON data is read as these bytes. The output is requested in binary, so that its text form does not matter."""
    echo = t.models.echo("BYTES")
    body = {"parameters": {"binary_data_output": True}, **echo.body(data, **changes)}
    output = t.rest.post(echo.path + "/infer", body).result()[echo.output]
    expect("elements", output.elements(), values)


each("R15", "in", {
    "ascii": (["abc"], [b"abc"]), "empty": ([""], [b""]), "latin": (["h\u00e9"], ["h\u00e9".encode()]),
    "escape-ascii": ([Token('"\\u0041"')], [b"A"]), "escape-latin": ([Token('"caf\\u00e9"')], ["caf\u00e9".encode()]),
    "escape-upper-hex": ([Token('"\\u00E9"')], ["\u00e9".encode()]),
    "escape-short": ([Token('"\\" \\\\ \\/ \\b \\f \\n \\r \\t"')], [b'" \\ / \b \f \n \r \t']),
    "escape-nul": ([Token('"a\\u0000b"')], [b"a\x00b"]), "escape-cjk": ([Token('"\\u4e2d"')], ["\u4e2d".encode()]),
    "surrogate-pair": ([Token('"\\ud83d\\ude00"')], ["\U0001f600".encode()]),
    "raw-emoji": ([Token('"\U0001f600"')], ["\U0001f600".encode()]),
    "looks-like-base64": (["aGVsbG8="], [b"aGVsbG8="]), "looks-like-number": (["123"], [b"123"]),
    "long": (["x" * 100000], [b"x" * 100000])})(echoed)

@each("R15", "in.base64", {
    name: ([base64.b64encode(value).decode() for value in values], values) for name, values in {
        "text": [b"hello"], "not-utf8": [b"\xff\xfe\x00"], "empty": [b""], "several": [b"a", b"\x80", b"ccc"],
        "every-byte": [bytes(range(256))]}.items()})
def in_base64(t, data, values):
    """With the content_type base64, elements are decoded."""
    echoed(t, data, values, parameters={"content_type": "base64"})


@case("R15", "in.b64")
def b64(t):
    """b64 is base64."""
    echoed(t, ["//4A"], [b"\xff\xfe\x00"], parameters={"content_type": "b64"})


@case("R15", "in.base64-of-request")
def base64_of_request(t):
    """content_type of the request applies to inputs without their own."""
    echo = t.models.echo("BYTES")
    body = {"parameters": {"binary_data_output": True, "content_type": "base64"}, **echo.body(["//4A"])}
    expect("elements", t.rest.post(echo.path + "/infer", body).result()[echo.output].elements(), [b"\xff\xfe\x00"])


@case("R15", "in.array-of-bytes")
def array_of_bytes(t):
    """An element may be an array of 0 to 255."""
    echo = t.models.echo("BYTES")
    body = {"parameters": {"binary_data_output": True}, **echo.body([[104, 255]], echo.shape(1))}
    expect("elements", t.rest.post(echo.path + "/infer", body).result()[echo.output].elements(), [b"h\xff"])


def wrapped(element, levels):
    return wrapped([element], levels - 1) if levels else element


@each("R15", "in.16-dimensions", {f"{form}.{key}": (levels, element) for form, levels in (("flat", 1), ("nested", 16))
                                  for key, element in (("text", "hi"), ("array-of-bytes", [104, 105]))})
def sixteen_dimensions(t, levels, element):
    """Elements as arrays of bytes are nested one level deeper than as text."""
    echo = t.models.echo("BYTES", any_rank=True)
    body = {"parameters": {"binary_data_output": True}, **echo.body(wrapped(element, levels), (1,) * 16)}
    output = t.rest.post(echo.path + "/infer", body).result()[echo.output]
    expect("output", output.bits(), tensor("", "BYTES", (1,) * 16, [b"hi"]).bits())


@each("R15", "refused", {
    "number": [5], "bool": [True], "object": [{}], "array-above-255": [[256]], "array-negative": [[-1]],
    "array-of-text": [["a", 1]],
    "lone-high-surrogate": [Token('"\\ud800"')], "lone-low-surrogate": [Token('"\\udc00"')],
    "reversed-surrogates": [Token('"\\ude00\\ud83d"')], "bad-escape": [Token('"\\x41"')], "short-escape": [Token('"\\u00e"')],
    "not-utf8": [Token('"\udcff"')], "overlong-utf8": [Token('"\udcc0\udcaf"')],
    "utf8-surrogate": [Token('"\udced\udca0\udc80"')],
    "raw-newline": [Token('"a\nb"')], "raw-nul": [Token('"a\x00b"')]})
def refused(t, data):
    """An element that is no text, or whose text is malformed: 400."""
    echo = t.models.echo("BYTES")
    t.send(echo, data, echo.shape(1)).refused(400)


@each("R15", "refused.base64", {"alphabet": "a*b=", "length": "abcde", "padding-inside": "ab=c"})
def refused_base64(t, text):
    """An element that is no base64: 400."""
    t.send(t.models.echo("BYTES"), [text], parameters={"content_type": "base64"}).refused(400)


def json_output(t, values):
    """The JSON output object for these bytes, sent in the binary form."""
    echo = t.models.echo("BYTES")
    headers, body = binary_body(echo.inputs(values), parameters={"binary_data_output": False})
    return parse(t.rest.post(echo.path + "/infer", body, headers).ok().text())["outputs"][0]


@each("R15", "out.text", {"ascii": [b"abc", b""], "utf8": ["h\u00e9 \U0001f600".encode()],
                          "control": [b"\x00\x01\x1f\"\\/\n"], "line-separators": ["\u2028\u2029".encode()]})
def out_text(t, values):
    """Elements in UTF-8 are returned as text."""
    output = json_output(t, values)
    expect("data", flatten(output["data"]), [value.decode() for value in values])
    expect("content_type", (output.get("parameters") or {}).get("content_type"), None)


@each("R15", "out.base64", {"not-utf8": [b"\xff\xfe\x00"], "mixed": [b"text", b"\xff"],
                            "overlong": [b"\xc0\xaf"], "surrogate": [b"\xed\xa0\x80"], "truncated": ["\u00e9".encode()[:1]]})
def out_base64(t, values):
    """One element that is not UTF-8 makes all elements base64, with the content type set."""
    output = json_output(t, values)
    expect("content_type", (output.get("parameters") or {}).get("content_type"), "base64")
    expect("data", flatten(output["data"]), [base64.b64encode(value).decode() for value in values])


@case("R15", "out.base64-on-request")
def out_base64_on_request(t):
    """content_type of a requested output forces base64."""
    echo = t.models.echo("BYTES")
    body = {**echo.body(["hi"]), "outputs": [{"name": echo.output, "parameters": {"content_type": "base64"}}]}
    output = parse(t.rest.post(echo.path + "/infer", body).ok().text())["outputs"][0]
    expect("data", flatten(output["data"]), ["aGk="])
    expect("content_type", (output.get("parameters") or {}).get("content_type"), "base64")


@each("R15", "bits", {form: form for form in ("binary", "grpc-raw", "grpc-typed")})
def not_text(t, form):
    """Bytes that are not text survive the binary and gRPC forms."""
    echo = t.models.echo("BYTES")
    inputs = echo.inputs([b"\xff\xfe\x00", b"", bytes(range(256))])
    expect("elements", t.infer(form, echo.model, inputs)[echo.output].elements(), inputs[0].elements())


_BAD_RAW = {"no-length": b"\x01\x00", "length-beyond": b"\x09\x00\x00\x00ab", "length-huge": b"\xff\xff\xff\xffab",
            "length-negative": b"\x00\x00\x00\x80ab", "surplus": pack("BYTES", [b"ab"]) + b"\x00",
            "element-more": pack("BYTES", [b"a", b"b"])}


@each("R15", "raw-refused.binary", _BAD_RAW)
def bad_raw_binary(t, raw):
    """BYTES whose lengths do not fit: 400."""
    echo = t.models.echo("BYTES")
    head = {"inputs": [{"name": echo.input, "shape": list(echo.shape(1)), "datatype": "BYTES",
                        "parameters": {"binary_data_size": len(raw)}}]}
    headers, body = framed(head, raw)
    t.rest.post(echo.path + "/infer", body, headers).refused(400)


@each("R15", "raw-refused.grpc", _BAD_RAW)
def bad_raw_grpc(t, raw):
    """BYTES whose lengths do not fit: INVALID_ARGUMENT."""
    echo = t.models.echo("BYTES")
    request = grpc_request(echo.model, [Tensor(echo.input, "BYTES", echo.shape(1), raw)])
    t.grpc.refused("ModelInfer", request, "INVALID_ARGUMENT")


@case("R15", "nested")
def nested(t):
    """Nested BYTES keep shape and order."""
    echo = t.models.echo("BYTES", free=True)
    output = t.send(echo, [["a", "b"], ["c", ""]], [2, 2]).result()[echo.output]
    expect("output", output.bits(), tensor("", "BYTES", (2, 2), [b"a", b"b", b"c", b""]).bits())
