"""The form of errors and their status: R3, R4, R5."""

import grpc

from .cases import Chapter
from .client import NotApplicable, expect, grpc_request, json_body, pb
from .models import FLEETS, bytes_input
from .tensors import Token, render, tensor

CHAPTER = Chapter("errors")
case, each = CHAPTER.case, CHAPTER.each


@each("R3", "form", {
    "unknown-path": ("GET", "/v2/nothing", None), "unknown-model": ("GET", "/v2/models/isthmus_no_such_model", None),
    "unknown-model-ready": ("GET", "/v2/models/isthmus_no_such_model/ready", None),
    "method": ("DELETE", "/v2", None), "method-infer": ("GET", "/v2/models/{m}/infer", None),
    "bad-json": ("POST", "/v2/models/{m}/infer", b"{"), "no-inputs": ("POST", "/v2/models/{m}/infer", b"{}"),
    "empty-body": ("POST", "/v2/models/{m}/infer", b""), "unknown-model-infer": ("POST", "/v2/models/isthmus_nope/infer", b"{}")})
def form(t, method, path, body):
    """Every failure has the standard form, whatever its status."""
    answer = t.rest.call(method, path.format(m=t.models.known[0]), body)
    assert answer.status >= 400, f"status is {answer.status}, expected 4xx"
    answer.error()


@case("R3", "form.request-line")
def form_of_bad_request_line(t):
    """Bytes that are not HTTP get an error in the standard form, or the connection is closed; the endpoint stays up."""
    connection = t.rest.connection()
    try:
        connection.connect()
        connection.sock.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n")
        head = connection.sock.recv(4096)
    finally:
        connection.close()
    status = head.split(b" ")[1:2]
    assert not head or status[0].startswith((b"4", b"5")), f"answer is {head[:60]!r}, expected 4xx or a closed connection"
    t.rest.get("/v2/health/live").ok()


@case("R3", "connection-survives")
def connection_survives(t):
    """After errors, the connection is still usable."""
    echo = t.models.echo()
    connection = t.rest.connection()
    try:
        for body, status in (("{", 400), ('{"inputs":{}}', 400), (echo.body([1]), 200)):
            connection.request("POST", echo.path + "/infer", body if isinstance(body, str) else render(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            expect("status", response.status, status)
    finally:
        connection.close()


def rows():
    return {f"{fleet.name}.{kind}": (fleet.name, kind) for fleet in FLEETS.values() for kind in fleet.fails}


def model_failure(t, fleet, kind):
    if t.models.name != fleet:
        raise NotApplicable(f"a failure of the models '{fleet}'")
    return t.models.fails[kind]


@each("R4", "rest", rows())
def rest_status(t, fleet, kind):
    """A failure of the model has the status that belongs to it, and its words."""
    status, _, words = model_failure(t, fleet, kind)
    message = t.rest.post("/v2/models/fail/infer", json_body([bytes_input("INPUT0", kind)])).refused(status)
    assert words in message, f"message is {message!r:.160}, expected {words!r} in it"


@each("R4", "grpc", rows())
def grpc_status(t, fleet, kind):
    """A failure of the model has the code that belongs to it, and its words."""
    _, code, words = model_failure(t, fleet, kind)
    message = t.grpc.refused("ModelInfer", grpc_request("fail", [bytes_input("INPUT0", kind)]), code)
    assert words in message, f"message is {message!r:.160}, expected {words!r} in it"


@case("R4", "grpc.unknown-method")
def grpc_unknown_method(t):
    """A method that the service lacks: UNIMPLEMENTED."""
    call = t.grpc.channel.unary_unary("/inference.GRPCInferenceService/Nothing")
    try:
        call(b"", timeout=t.timeout)
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "UNIMPLEMENTED")
        return
    raise AssertionError("gRPC status is OK, expected UNIMPLEMENTED")


@case("R4", "grpc.malformed-message")
def grpc_malformed(t):
    """A message that is no protobuf: INVALID_ARGUMENT or INTERNAL."""
    call = t.grpc.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    try:
        call(b"\xff\xff\xff", timeout=t.timeout)
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "INVALID_ARGUMENT", "INTERNAL")
        return
    raise AssertionError("gRPC status is OK, expected INVALID_ARGUMENT")


@case("R4", "grpc.deadline")
def grpc_deadline(t):
    """A deadline that expires while the model runs is DEADLINE_EXCEEDED, and the endpoint still serves."""
    request = grpc_request(t.models.need("slow"), [tensor("INPUT0", "INT32", (1,), [1500])])
    try:
        t.grpc.stub.ModelInfer(request, timeout=0.3)
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "DEADLINE_EXCEEDED")
        expect("live", t.grpc.call("ServerLive", pb.ServerLiveRequest()).live, True)
        return
    raise AssertionError("gRPC status is OK, expected DEADLINE_EXCEEDED")


@each("R5", "missing", {"name": "name", "shape": "shape", "datatype": "datatype", "data": "data"})
def missing_field(t, key):
    """A tensor without a required field: 400 with the error object."""
    t.send(t.models.echo(), [1], **{key: None}).refused(400)


@each("R5", "type", {
    "name-number": ("name", 5), "name-null": ("name", Token("null")), "shape-text": ("shape_", "1"),
    "shape-object": ("shape_", {}), "datatype-number": ("datatype", 1), "datatype-unknown": ("datatype", "FP99"),
    "datatype-lower-case": ("datatype", "fp32"), "data-object": ("data_", {}), "data-number": ("data_", 1),
    "data-text": ("data_", "1"), "parameters-array": ("parameters", [1]), "parameters-text": ("parameters", "x")})
def wrong_type(t, key, value):
    """A field of the wrong JSON type is the client's error, not the server's."""
    echo = t.models.echo()
    body = echo.body([1])
    body["inputs"][0][key.rstrip("_")] = value
    t.rest.post(echo.path + "/infer", body).refused(400)


@each("R5", "body", {
    "inputs-missing": {}, "inputs-object": {"inputs": {}}, "inputs-null": {"inputs": None},
    "inputs-of-numbers": {"inputs": [1]}, "outputs-object": {"outputs": {}}, "outputs-of-numbers": {"outputs": [1]},
    "outputs-nameless": {"outputs": [{}]}, "parameters-array": {"parameters": [1]}, "parameters-text": {"parameters": "x"}})
def wrong_body(t, changes):
    """A request with a missing field or one of a wrong JSON type: 400 with the error object."""
    echo = t.models.echo()
    body = {**({} if changes == {} else echo.body([1])), **changes}
    t.rest.post(echo.path + "/infer", body).refused(400)


@case("R5", "input.unknown-name")
def unknown_input(t):
    """An input that the model does not declare: 400."""
    model, _ = t.models.need("metadata")
    t.rest.post(f"/v2/models/{model}/infer",
                {"inputs": [{"name": "nope", "shape": [1, 1], "datatype": "INT32", "data": [1]}]}).refused(400)


@case("R5", "input.missing")
def missing_input(t):
    """A request without a declared input: 400."""
    sums = t.models.need("sums")
    t.rest.post(f"/v2/models/{sums}/infer",
                {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": [1] * 16}]}).refused(400)


@case("R5", "input.twice")
def input_twice(t):
    """The same input twice: 400."""
    echo = t.models.echo()
    body = echo.body([1])
    body["inputs"].append(body["inputs"][0])
    t.rest.post(echo.path + "/infer", body).refused(400)


@case("R5", "input.wrong-datatype")
def wrong_datatype(t):
    """An input with another datatype than declared: 400."""
    model, inputs = t.models.need("metadata")
    made = [{"name": name, "shape": [1, width], "datatype": "UINT16", "data": [1] * width} for name, (_, width) in inputs.items()]
    t.rest.post(f"/v2/models/{model}/infer", {"inputs": made}).refused(400)


@case("R5", "input.wrong-shape")
def wrong_shape(t):
    """An input with another fixed dimension than declared: 400."""
    model, inputs = t.models.need("metadata")
    made = [{"name": name, "shape": [1, width - 1], "datatype": datatype, "data": [1] * (width - 1)}
            for name, (datatype, width) in inputs.items()]
    t.rest.post(f"/v2/models/{model}/infer", {"inputs": made}).refused(400)
