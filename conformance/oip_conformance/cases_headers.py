"""What a gateway forwards besides tensors: headers (R22), status (R4), other servers' error bodies (R3), retries (R24).

Most cases need the scripted upstreams of witness.py behind the gateway.
"""
import http.client
import uuid

from .cases import Chapter
from .client import answer_of, expect, grpc_request, pb
from .tensors import tensor
from .witness import FOREIGN, SHORT, UNUSUAL, WRONG

CHAPTER = Chapter("headers")
case, each = CHAPTER.case, CHAPTER.each

PASSED_ON = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "rojo=00f067aa0ba902b7",
             "baggage": "user=alice", "x-request-id": "suite-42", "authorization": "Bearer abc"}
DROPPED = {"x-secret": "1", "te": "trailers", "keep-alive": "timeout=5", "proxy-connection": "keep-alive"}
WAYS = {f"{into}-to-{out}": (into, out) for into in ("rest", "grpc") for out in ("rest", "grpc")}
CODES = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 429, "UNAUTHENTICATED": 401,
         "DEADLINE_EXCEEDED": 504, "UNIMPLEMENTED": 501, "UNAVAILABLE": 503, "INTERNAL": 500, "UNKNOWN": 500, "DATA_LOSS": 500,
         "CANCELLED": 499, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400, "ALREADY_EXISTS": 409, "ABORTED": 409}
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
            413: "RESOURCE_EXHAUSTED", 429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def one(script):
    return {"id": script, "inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]}


def ask(t, out, script, headers=None):
    """The REST response of a witness that follows the script."""
    t.witness(out)
    return t.rest.post(f"/v2/models/witness_{out}/infer", one(script), headers)


def rpc(out, script):
    return grpc_request(f"witness_{out}", [tensor("INPUT0", "INT32", (1,), [1])], id=script)


def pass_through(t, into, out, headers):
    """The headers that reach the upstream for a request with these headers."""
    witness, script = t.witness(out), "h-" + uuid.uuid4().hex
    if into == "rest":
        ask(t, out, script, headers).ok()
    else:
        t.grpc.call("ModelInfer", rpc(out, script), metadata=list(headers.items()))
    return witness.last(script)[0]


@each("R22", "forwarded", {f"{way}.{name}": (*ends, name) for way, ends in WAYS.items() for name in PASSED_ON})
def forwarded(t, into, out, name):
    """Headers of tracing and authorization are forwarded."""
    found = pass_through(t, into, out, {name: PASSED_ON[name]})
    expect(name, found.get(name), PASSED_ON[name])


@each("R22", "dropped", {f"rest-to-{out}.{name}": (out, name) for out in ("rest", "grpc") for name in DROPPED
                         if (name, out) != ("te", "grpc")})
def dropped(t, out, name):
    """Hop-by-hop headers, and those named by a Connection header, are not forwarded. gRPC requires a te of its own."""
    found = pass_through(t, "rest", out, {name: DROPPED[name], "Connection": name})
    expect(name, found.get(name), None)


@each("R22", "host", {"rest-to-rest": "rest"})
def host(t, out):
    """The client's Host is not forwarded."""
    found = pass_through(t, "rest", out, {"Host": "client.example"})
    expect("host is the client's", found.get("host") == "client.example", False)


@case("R22", "deadline")
def deadline(t):
    """The rest of the client's deadline is sent upstream."""
    witness, script = t.witness("grpc"), "h-" + uuid.uuid4().hex
    t.grpc.call("ModelInfer", rpc("grpc", script))
    left = witness.last(script)[0]["time-remaining"]
    assert left is not None and 0 < left <= t.timeout + 0.5, f"the upstream's deadline is {left} s, expected about {t.timeout}"


@case("R22", "response.hop-by-hop")
def response_hop_by_hop(t):
    """A response has no hop-by-hop headers."""
    echo = t.models.echo()
    headers = t.rest.post(echo.path + "/infer", echo.body([1])).ok().headers
    expect("hop-by-hop headers", [name for name in headers if name in ("keep-alive", "proxy-connection", "te", "upgrade")], [])


@case("R22", "odd-header-is-harmless")
def odd_header(t):
    """Unusual header values do not disturb an inference."""
    echo = t.models.echo()
    t.rest.post(echo.path + "/infer", echo.body([1]), {"X-Odd": "\u00e9".encode("latin-1"), "X-Empty": "",
                                                       "X-Long": "x" * 2000}).result()


@case("R22", "grpc.binary-metadata-is-harmless")
def grpc_binary_metadata(t):
    """Binary metadata do not disturb a call."""
    expect("live", t.grpc.call("ServerLive", pb.ServerLiveRequest(), metadata=[("x-odd-bin", b"\x00\xff")]).live, True)


@each("R4", "code", {code: (code, status) for code, status in CODES.items()})
def code_to_status(t, code, status):
    """A gRPC upstream's code, as REST status and as gRPC code."""
    message = ask(t, "grpc", "code-" + code).refused(status)
    assert "the witness says" in message, f"message is {message!r}, expected the upstream's words"
    t.grpc.refused("ModelInfer", rpc("grpc", "code-" + code), code)


@each("R4", "status", {str(status): (status, code) for status, code in STATUSES.items()})
def status_to_code(t, status, code):
    """A REST upstream's status, as REST status and as gRPC code."""
    message = ask(t, "rest", f"status-{status}").refused(status)
    assert "the witness says" in message, f"message is {message!r}, expected the upstream's words"
    t.grpc.refused("ModelInfer", rpc("rest", f"status-{status}"), code)


@each("R3", "foreign", {script: script for script in FOREIGN})
def foreign(t, script):
    """The client gets the standard form, whatever the form of the upstream's error."""
    answer = ask(t, "rest", script)
    assert answer.status >= 400, f"status is {answer.status}, expected an error"
    answer.error()


@each("R3", "wrong-answer", {script: script for script in WRONG})
def wrong_answer(t, script):
    """A 200 with an invalid body becomes an error on gRPC, never an empty or invented tensor."""
    t.witness("rest")
    t.grpc.refused("ModelInfer", rpc("rest", script), "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNKNOWN")


@each("R3", "unusual-answer", {f"{into}.{script}": (into, script) for into in ("rest", "grpc") for script in UNUSUAL})
def unusual_answer(t, into, script):
    """Valid responses of an upstream are accepted."""
    t.witness("rest")
    result = ask(t, "rest", script).result() if into == "rest" else t.grpc.infer(rpc("rest", script))
    expect("output", result["OUTPUT0"].bits(), tensor("", "FP32", (1,), [0.1]).bits())


@each("R11", "short-answer", {script: script for script in SHORT})
def short_answer(t, script):
    """Raw bytes that do not match the shape."""
    answer = ask(t, "grpc", script)
    answer.refused(500, 502)
    t.rest.get("/v2/health/live").ok()


@each("R11", "scalar", {way: ends for way, ends in WAYS.items()})
def scalar(t, into, out):
    """A scalar output keeps its shape []."""
    t.witness(out)
    result = ask(t, out, "scalar").result() if into == "rest" else t.grpc.infer(rpc(out, "scalar"))
    expect("output", result["OUTPUT0"].bits(), "FP32[] 0000c03f")


@each("R24", "once", {f"{out}.{key}": (out, script) for out, scripts in {
    "grpc": {"internal": "code-INTERNAL", "invalid": "code-INVALID_ARGUMENT", "deadline": "code-DEADLINE_EXCEEDED"},
    "rest": {"internal": "status-500", "invalid": "status-400"}}.items() for key, script in scripts.items()})
def once(t, out, script):
    """A failure other than a refusal to serve is not retried."""
    witness = t.witness(out)
    before = sum(entry[2] == script for entry in witness.seen)
    answer = ask(t, out, script)
    assert answer.status >= 400, f"status is {answer.status}, expected an error"
    expect("times the upstream was called", sum(entry[2] == script for entry in witness.seen) - before, 1)


@case("R17", "accept.events-refused")
def events_refused(t):
    """A quality of 0 excludes a coding."""
    echo = t.models.echo()
    answer = t.rest.post(echo.path + "/infer", echo.body([1]), {"Accept": "application/json, text/event-stream;q=0"}).ok()
    expect("content-type", answer.headers["content-type"].split(";")[0], "application/json")


@case("R3", "expect.refused")
def expect_refused(t):
    """After an early error the connection stays usable, or the response announces that it closes."""
    connection = t.rest.connection()
    try:
        connection.request("POST", "/v2/nothing", headers={"Expect": "100-continue", "Content-Length": "2"})
        answer = answer_of(connection.getresponse())
        answer.refused(404)
        if answer.headers.get("connection", "").lower() != "close":
            connection.sock.sendall(b"{}")
            connection.request("GET", "/v2/health/live")
            expect("status of the next request", answer_of(connection.getresponse()).status, 200)
    except (OSError, http.client.HTTPException) as error:
        raise AssertionError(f"connection fails ({type(error).__name__}) and no Connection: close has announced it") from None
    finally:
        connection.close()
