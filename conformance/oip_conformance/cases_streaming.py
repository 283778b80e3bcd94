"""Streams over gRPC (ModelStreamInfer) and REST (server-sent events): R17."""
import json
import queue

import grpc

from .cases import Chapter
from .client import Answer, NotApplicable, expect, grpc_request, grpc_result, json_body, pb
from .models import bytes_input
from .tensors import tensor

CHAPTER = Chapter("streaming")
case, each = CHAPTER.case, CHAPTER.each
FINAL = "triton_final_response"


def streamed(t, requests, metadata=None):
    """All response messages to the requests; fails on a status other than OK."""
    try:
        return t.grpc.stream(requests, metadata)
    except grpc.RpcError as error:
        raise AssertionError(f"stream ends with {error.code().name} ({error.details()!r:.120}), expected OK") from None


def request(t, id="", **parameters):
    model = t.models.need("stream")
    return grpc_request(model.model, list(model.inputs), id=id, parameters=parameters)


def values(t, messages):
    """The outputs of all messages that have one."""
    model = t.models.need("stream")
    found = []
    for message in messages:
        expect("error_message", message.error_message, "")
        result = grpc_result(message.infer_response)
        if result.outputs:
            found.append(result[model.output].raw)
    return found


def wanted(t):
    return list(t.models.need("stream").values)


@case("R17", "grpc.all-in-order")
def grpc_all(t):
    """All responses arrive in their order."""
    expect("outputs", values(t, streamed(t, [request(t)])), wanted(t))


@case("R17", "grpc.id-in-each")
def grpc_id(t):
    """Each response has the id of its request."""
    messages = streamed(t, [request(t, "s-1")])
    expect("number of messages", len(messages) >= len(wanted(t)), True)
    expect("ids", {message.infer_response.id for message in messages}, {"s-1"})


@case("R17", "grpc.empty-final-only-if-asked")
def grpc_no_empty_final(t):
    """No empty final response comes unasked."""
    expect("number of messages", len(streamed(t, [request(t)])), len(wanted(t)))


@case("R17", "grpc.empty-final")
def grpc_empty_final(t):
    """If requested, a final message without outputs marks the end of a request; no other message does."""
    messages = streamed(t, [request(t, triton_enable_empty_final_response=True)])
    expect("outputs", values(t, messages), wanted(t))
    finals = [message.infer_response.parameters[FINAL].bool_param for message in messages]
    expect("marks of the last response", finals[-1:], [True])
    expect("number of marks", sum(finals), 1)


@case("R17", "grpc.two-requests")
def grpc_two(t):
    """Two requests on one stream, distinguished by id."""
    messages = streamed(t, [request(t, "a"), request(t, "b")])
    for id in "ab":
        expect(f"outputs of {id}", values(t, [m for m in messages if m.infer_response.id == id]), wanted(t))


@case("R17", "grpc.answer-before-end")
def grpc_interleaved(t):
    """The first request gets its response while the client can still send."""
    sent = queue.Queue()
    sent.put(request(t, "first"))
    call = t.grpc.stub.ModelStreamInfer(iter(sent.get, None), timeout=t.timeout)
    try:
        first = next(call)
        expect("error_message", first.error_message, "")
        expect("id", first.infer_response.id, "first")
    except grpc.RpcError as error:
        raise AssertionError(f"stream ends with {error.code().name} ({error.details()!r:.120}), expected a response") from None
    finally:
        sent.put(None)
        call.cancel()


@case("R17", "grpc.one-response-model")
def grpc_one(t):
    """A model with one response per request also has one on a stream."""
    echo = t.models.echo()
    inputs = echo.sample()
    messages = streamed(t, [grpc_request(echo.model, inputs, id="one")])
    expect("number of messages", len(messages), 1)
    expect("error_message", messages[0].error_message, "")
    expect("output", grpc_result(messages[0].infer_response)[echo.output].bits(), inputs[0].bits())


def failing(t):
    echo = t.models.echo(free=True)
    bad = grpc_request(echo.model, echo.inputs([1, 2]), id="bad")
    bad.raw_input_contents[0] = bad.raw_input_contents[0][:3]
    return bad


@case("R17", "grpc.error-in-band")
def grpc_error(t):
    """An error is a message, and the stream stays open."""
    echo = t.models.echo()
    messages = streamed(t, [failing(t), grpc_request(echo.model, echo.inputs([1]), id="good")])
    errors = [message for message in messages if message.error_message]
    expect("number of errors", len(errors), 1)
    good = [message.infer_response for message in messages if not message.error_message]
    expect("ids of the responses", [response.id for response in good], ["good"])


@case("R17", "grpc.error-names-request")
def grpc_error_id(t):
    """An error names its request."""
    messages = streamed(t, [failing(t)])
    expect("id of the error", [m.infer_response.id for m in messages if m.error_message], ["bad"])


@case("R17", "grpc.unknown-model-in-band")
def grpc_unknown(t):
    """An unknown model is an error in the stream, which goes on."""
    messages = streamed(t, [grpc_request("isthmus_no_such_model", [tensor("x", "INT32", (1,), [1])], id="x")])
    expect("messages with error_message", [bool(m.error_message) for m in messages], [True])


def model_failing(t):
    """A request that the model refuses with INVALID_ARGUMENT."""
    model = t.models.need("fail")
    kind = next(kind for kind, answer in t.models.fails.items() if answer[1] == "INVALID_ARGUMENT")
    return grpc_request(model, [bytes_input("INPUT0", kind)], id="bad")


@each("R17", "grpc.error-as-status", {"request": failing, "model": model_failing})
def grpc_error_status(t, failing_request):
    """With the metadata triton_grpc_error: true an error is the status, and closes the stream."""
    sent, asked = [failing_request(t)], [("triton_grpc_error", "true")]
    try:
        messages = t.grpc.stream(sent, asked)
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "INVALID_ARGUMENT")
        return
    raise AssertionError(f"stream ends with OK after {len(messages)} messages, expected INVALID_ARGUMENT")


@case("R17", "grpc.model-error-in-band")
def grpc_model_error(t):
    """A failure of the model is an error in the stream."""
    model = t.models.need("fail")
    messages = streamed(t, [grpc_request(model, [bytes_input("INPUT0", "raise")], id="f")])
    expect("messages with error_message", [bool(m.error_message) for m in messages], [True])


@case("R17", "grpc.no-requests")
def grpc_nothing(t):
    """A stream without requests ends with OK."""
    expect("messages", streamed(t, []), [])


@case("R17", "grpc.cancel")
def grpc_cancel(t):
    """A cancelled stream does not affect others."""
    call = t.grpc.stub.ModelStreamInfer(iter([request(t)]), timeout=t.timeout)
    try:
        next(iter(call), None)
    except grpc.RpcError as error:
        raise AssertionError(f"stream ends with {error.code().name} ({error.details()!r:.120}), expected a response") from None
    call.cancel()
    expect("outputs afterwards", values(t, streamed(t, [request(t)])), wanted(t))


@case("R17", "unary-on-decoupled.rest")
def unary_rest(t):
    """A single call of a model with several responses: 501."""
    model = t.models.need("stream")
    if not model.unary_refused:
        raise NotApplicable(f"'{model.model}' answers single calls too")
    t.rest.post(f"/v2/models/{model.model}/infer", json_body(list(model.inputs))).refused(501)


@case("R17", "unary-on-decoupled.grpc")
def unary_grpc(t):
    """A single call of a model with several responses: UNIMPLEMENTED."""
    model = t.models.need("stream")
    if not model.unary_refused:
        raise NotApplicable(f"'{model.model}' answers single calls too")
    t.grpc.refused("ModelInfer", request(t), "UNIMPLEMENTED")


# ---------------------------------------------------------------- server-sent events

WAYS = {"path": ("infer_stream", {}), "accept": ("infer", {"Accept": "text/event-stream"})}


def sse(t, way, model, body):
    path, headers = WAYS[way]
    return t.rest.post(f"/v2/models/{model}/{path}", body, headers)


def events(answer):
    """The JSON of each event."""
    answer.ok()
    expect("content-type", answer.headers.get("content-type", "").split(";")[0], "text/event-stream")
    found = []
    for block in answer.text().replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            found.append(json.loads("\n".join(data)))
    return found


def event_values(t, found):
    model = t.models.need("stream")
    return [Answer(200, {}, json.dumps(event).encode()).result()[model.output].raw for event in found if event.get("outputs")]


@each("R17", "sse.all-in-order", {way: way for way in WAYS})
def sse_all(t, way):
    """All responses arrive as events, in their order."""
    model = t.models.need("stream")
    found = events(sse(t, way, model.model, json_body(list(model.inputs))))
    expect("outputs", event_values(t, found), wanted(t))
    expect("number of events", len(found), len(wanted(t)))


@each("R17", "sse.id-in-each", {way: way for way in WAYS})
def sse_id(t, way):
    """Each event has the id of the request."""
    model = t.models.need("stream")
    found = events(sse(t, way, model.model, {"id": "s-2", **json_body(list(model.inputs))}))
    expect("ids", {event.get("id") for event in found}, {"s-2"})


@each("R17", "sse.one-response-model", {way: way for way in WAYS})
def sse_one(t, way):
    """A model with one response has one event."""
    echo = t.models.echo()
    found = events(sse(t, way, echo.model, json_body(echo.inputs([1]))))
    expect("number of events", len(found), 1)
    output = Answer(200, {}, json.dumps(found[0]).encode()).result()[echo.output]
    expect("first element", float(output.elements()[0]), 1.0)


@each("R17", "sse.error-before-first", {
    f"{way}.{key}": (way, key, status) for way in WAYS
    for key, status in {"bad-json": 400, "bad-count": 400, "unknown-model": 404}.items()})
def sse_refused(t, way, what, status):
    """Before the first event an error is an ordinary error response."""
    echo = t.models.echo()
    body = {"bad-json": "{", "bad-count": echo.body([1, 2], [1, 1]), "unknown-model": echo.body([1])}[what]
    message = sse(t, way, "isthmus_no_such_model" if what == "unknown-model" else echo.model, body).refused(status)
    assert message != "Not Found", f"message is {message!r}, expected one about the request: the path is served"


@each("R17", "sse.get-refused", {"path": "infer_stream"})
def sse_get(t, path):
    """GET of the stream: 405."""
    t.rest.get(f"/v2/models/{t.models.echo().model}/{path}").refused(405)


@case("R17", "sse.crossed")
def sse_crossed(t):
    """Both wires stream the same outputs."""
    model = t.models.need("stream")
    over_rest = event_values(t, events(sse(t, "path", model.model, json_body(list(model.inputs)))))
    expect("outputs over gRPC", values(t, streamed(t, [request(t)])), over_rest)


@case("R17", "grpc.many")
def grpc_many(t):
    """A hundred requests on one stream."""
    echo = t.models.echo()
    messages = streamed(t, [grpc_request(echo.model, echo.inputs([n]), id=str(n)) for n in range(100)])
    found = {m.infer_response.id: float(grpc_result(m.infer_response)[echo.output].elements()[0]) for m in messages}
    expect("answers", found, {str(n): float(n) for n in range(100)})
    expect("live", t.grpc.call("ServerLive", pb.ServerLiveRequest()).live, True)
