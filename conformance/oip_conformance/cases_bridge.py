"""Defects found in an existing REST to gRPC bridge."""
import math

import numpy

from .cases import Chapter
from .cases_headers import CODES, PASSED_ON, ask, pass_through
from .cases_numbers import comes_back
from .cases_parameters import given_back, over_rest, seen
from .client import NotApplicable, binary_body, expect, grpc_request
from .tensors import Tensor, Token, flatten, parse

CHAPTER = Chapter("bridge")
case, each = CHAPTER.case, CHAPTER.each


def json_data(t, datatype, data):
    """The flat data of a JSON output."""
    return flatten(parse(t.send(t.models.echo(datatype), data).ok().text())["outputs"][0]["data"])


@case("R12", "bridge.uint8-out-is-numbers")
def uint8_out(t):
    """UINT8 are returned as numbers."""
    expect("data", json_data(t, "UINT8", [0, 200, 255]), ["0", "200", "255"])


@case("R13", "bridge.nan-out")
def nan_out(t):
    """NaN and infinities are returned as bare words."""
    model = t.models.need("special")
    body = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]}
    data = flatten(parse(t.rest.post(f"/v2/models/{model}/infer", body).ok().text())["outputs"][0]["data"])
    expect("data", data[:3], ["NaN", "Infinity", "-Infinity"])


each("R14", "bridge", {"fp16-taken": ("FP16", [Token("1.5")], bytes.fromhex("003e")),
                       "bf16-taken": ("BF16", [Token("1.5")], bytes.fromhex("c03f"))})(comes_back)


@case("R16", "bridge.short-raw-answer")
def short_raw_answer(t):
    """A buffer of an upstream that is too short is an error, and does not crash the gateway."""
    ask(t, "grpc", "short-one-byte").refused(500, 502)
    t.rest.get("/v2/health/live").ok()


@case("R16", "bridge.short-raw-request")
def short_raw_request(t):
    """Raw bytes that are too few are refused."""
    echo = t.models.echo("FP32", free=True)
    short = Tensor(echo.input, "FP32", echo.shape(4), bytes(15))
    headers, body = binary_body([short])
    t.rest.post(echo.path + "/infer", body, headers).refused(400)
    t.grpc.refused("ModelInfer", grpc_request(echo.model, [short]), "INVALID_ARGUMENT")


@each("R15", "bridge", {"escape-ascii": ('"\\u0041"', b"A"), "escape-latin": ('"caf\\u00e9"', "caf\u00e9".encode()),
                        "escape-pair": ('"\\ud83d\\ude00"', "\U0001f600".encode())})
def escape(t, text, value):
    """Escapes in a text are decoded."""
    echo = t.models.echo("BYTES")
    expect("elements", t.send(echo, [Token(text)]).result()[echo.output].elements(), [value])


@each("R11", "bridge", {"too-few-elements": ([1, 2], [1, 4]), "ragged": ([[1, 2, 3], [4]], [2, 2])})
def wrong_count(t, data, shape):
    """Data that do not fit the shape are refused."""
    t.send(t.models.echo("FP32"), data, shape).refused(400)


@case("R13", "bridge.null-is-not-zero")
def null_not_zero(t):
    """null is NaN, not zero."""
    output = t.infer_json_binary(t.models.echo("FP32"), [None])
    assert math.isnan(float(output.elements()[0])), f"null is {output.elements()[0]!r}, expected NaN"


@case("R13", "bridge.null-integer-refused")
def null_integer(t):
    """null as an integer: 400."""
    t.send(t.models.echo("INT32"), [None]).refused(400)


@each("R12", "bridge", {"int8-out-of-range": ("INT8", 300), "uint8-out-of-range": ("UINT8", 256)})
def out_of_range(t, datatype, value):
    """An integer out of its range: 400."""
    t.send(t.models.echo(datatype), [value]).refused(400)


@each("R8", "bridge.parameter", {"fraction": 0.5, "beyond-double": 2**53 + 1})
def parameter(t, value):
    """A number as parameter keeps its value."""
    expect("parameter", repr(seen(t, {"p": value}).get("p")), repr(value))


@case("R8", "bridge.parameter.object-not-dropped")
def parameter_object(t):
    """Refused, or forwarded to a server that accepts objects; never dropped silently."""
    answer = over_rest(t, {"p": {"a": 1}})
    if answer.status == 200:
        expect("parameter", given_back(t, answer.result()).get("p"), {"a": 1})
        return
    answer.refused(400)


@case("R16", "bridge.binary-data-of-output")
def binary_data_of_output(t):
    """An output is returned in binary form if it is requested so."""
    echo = t.models.echo()
    body = {**echo.body([1]), "outputs": [{"name": echo.output, "parameters": {"binary_data": True}}]}
    result = t.rest.post(echo.path + "/infer", body).result()
    expect("output has data", "data" in result.source["outputs"][0], False)


@case("R16", "bridge.official-client")
def official_client(t):
    """tritonclient with its defaults: binary both ways."""
    try:
        import tritonclient.http
    except ImportError:
        raise NotApplicable("tritonclient[http] is not installed beside the suite") from None
    echo = t.models.echo()
    sent = echo.sample()
    secured = t.rest.tls.of_gevent() if t.rest.tls else {}
    client = tritonclient.http.InferenceServerClient(t.rest_address, connection_timeout=t.timeout, network_timeout=t.timeout, **secured)
    try:
        inputs = []
        for one in sent:
            made = tritonclient.http.InferInput(one.name, list(one.shape), one.datatype)
            inputs.append(made.set_data_from_numpy(numpy.array(one.elements()).reshape(one.shape)))
        result = client.infer(echo.model, inputs, outputs=[tritonclient.http.InferRequestedOutput(echo.output)])
        found = result.as_numpy(echo.output)
    finally:
        client.close()
    expect("output", found.tobytes(), sent[0].raw)


@case("R16", "bridge.binary-tail-read")
def binary_tail(t):
    """Binary data are read."""
    echo = t.models.echo()
    sent = echo.sample()
    headers, body = binary_body(sent)
    expect("output", t.rest.post(echo.path + "/infer", body, headers).result()[echo.output].bits(), sent[0].bits())


@case("R20", "bridge.metadata-shape-is-integers")
def metadata_shape(t):
    """Shapes in metadata are integers."""
    model, _ = t.models.need("metadata")
    for one in t.rest.get(f"/v2/models/{model}").ok().json()["inputs"]:
        expect("types in shape", {type(dimension) for dimension in one["shape"]}, {int})


@case("R11", "bridge.scalar-keeps-shape")
def scalar_shape(t):
    """A scalar output keeps the shape []."""
    if t.models.echo().rank or t.models.echo().width:
        out = "grpc"
        answer = ask(t, out, "scalar").ok()
    else:
        answer = t.send(t.models.echo("FP32"), [Token("1.5")], []).ok()
    expect("shape", parse(answer.text())["outputs"][0].get("shape"), [])


@each("R1", "bridge.served", {"live": "/v2/health/live", "ready": "/v2/health/ready", "server": "/v2",
                              "model": "/v2/models/{m}", "model-ready": "/v2/models/{m}/ready"})
def served(t, path):
    """The path is served."""
    answer = t.rest.get(path.format(m=t.models.known[0])).ok()
    if not path.endswith(("live", "ready")):
        assert answer.json().get("name"), f"metadata is {answer.body[:80]!r}, expected a 'name' in it"


@case("R21", "bridge.served.repository")
def served_repository(t):
    """The index is served."""
    t.models.need("repository")
    found = t.rest.post("/v2/repository/index", b"{}").ok().json()
    expect("index is an array", isinstance(found, list), True)


@each("R3", "bridge.error-form", {"unknown-path": ("GET", "/v2/nothing"),
                                  "unknown-model": ("POST", "/v2/models/isthmus_nope/infer")})
def error_form(t, method, path):
    """Errors have the error object."""
    body = t.rest.call(method, path, b"{}" if method == "POST" else None)
    assert body.status >= 400, f"status is {body.status}, expected 4xx"
    expect("keys of the error", list(body.json()), ["error"])


@each("R22", "bridge.forwarded", {f"{out}.{name}": (out, name) for out in ("rest", "grpc")
                                  for name in ("authorization", "traceparent", "x-request-id")})
def forwarded(t, out, name):
    """The header is forwarded."""
    expect(name, pass_through(t, "rest", out, {name: PASSED_ON[name]}).get(name), PASSED_ON[name])


@each("R4", "bridge.status", {code: code for code in (
    "NOT_FOUND", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNKNOWN", "INVALID_ARGUMENT")})
def status(t, code):
    """A server's code becomes the HTTP status that belongs to it."""
    ask(t, "grpc", "code-" + code).refused(CODES[code])
