"""The suite's clients: single REST and gRPC calls, each bounded in time and in what it receives."""
import http.client
import json
from dataclasses import dataclass, field
from itertools import islice

import grpc

from . import messages as pb
from .connection import MAX_RECEIVED, Connection, connect
from .tensors import TYPED_FIELDS, Tensor, from_json, nest, pack, parse, render, to_json
from .tls import host_and_port

TIMEOUT = 10.0
MAX_MESSAGES = 10_000
LENGTH = "inference-header-content-length"
FORMS = ("json", "json-nested", "binary-in", "binary-out", "binary", "grpc-raw", "grpc-typed")


class NotApplicable(Exception):
    """The endpoint lacks something that a case needs; the message says what."""


def expect(what, got, *wanted):
    """Fails with value and expectation unless got is one of wanted."""
    assert got in wanted, f"{what} is {got!r}, expected {' or '.join(map(repr, wanted))}"


@dataclass
class Answer:
    """A REST response."""
    status: int
    headers: dict
    body: bytes

    def text(self):
        try:
            return self.body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise AssertionError(f"body is {self.body[error.start:][:20]!r} at {error.start}, expected UTF-8") from None

    def json(self):
        text = self.text()
        try:
            return json.loads(text)
        except ValueError as error:
            raise AssertionError(f"body is {self.body[:80]!r}, expected JSON ({error})") from None

    def error(self):
        """The message of an error; fails unless the body has the standard form."""
        kind = self.headers.get("content-type", "").split(";")[0]
        assert kind == "application/json", \
            f"content-type of status {self.status} is {kind!r}, expected 'application/json' (body {self.body[:80]!r})"
        body = self.json()
        assert isinstance(body, dict) and list(body) == ["error"] and isinstance(body["error"], str) and body["error"], \
            f"error body is {body!r}, expected {{\"error\": \"...\"}}"
        return body["error"]

    def refused(self, *statuses):
        """The message of an error, which must have one of these statuses and the standard form."""
        assert self.status in statuses, \
            f"status is {self.status}, expected {' or '.join(map(str, statuses))} (body {self.body[:120]!r})"
        return self.error()

    def ok(self):
        assert self.status == 200, f"status is {self.status}, expected 200 (body {self.body[:160]!r})"
        return self

    def result(self):
        """The outputs of a 200, in JSON or in the binary extension."""
        self.ok()
        length = self.headers.get(LENGTH)
        if length is not None:
            assert length.isdigit() and int(length) <= len(self.body), \
                f"{LENGTH} is {length!r}, expected at most the {len(self.body)} bytes of the body"
        head, tail = (self.body, b"") if length is None else (self.body[:int(length)], self.body[int(length):])
        try:
            response = parse(head.decode("utf-8"))
        except ValueError as error:
            raise AssertionError(f"response JSON is {head[:80]!r}, expected JSON in UTF-8 ({error})") from None
        assert isinstance(response, dict) and isinstance(response.get("outputs"), list), \
            f"response is {head[:80]!r}, expected a JSON object with 'outputs'"
        found = {}
        for output in response["outputs"]:
            lacking = [key for key in ("name", "datatype", "shape") if not isinstance(output, dict) or key not in output]
            expect("fields missing in an output", lacking, [])
            expect("datatype is known", output["datatype"] in TYPED_FIELDS or output["datatype"] in ("FP16", "BF16"), True)
            parameters = output.get("parameters") or {}
            if "binary_data_size" in parameters:
                expect("keys 'data' beside 'binary_data_size'", "data" in output, False)
                size = int(parameters["binary_data_size"])
                raw, tail = tail[:size], tail[size:]
                expect("bytes of binary output", len(raw), size)
            else:
                raw = from_json(output["datatype"], output.get("data"), parameters.get("content_type"))
            shape = tuple(int(dimension) for dimension in output["shape"])
            found[output["name"]] = Tensor(output["name"], output["datatype"], shape, raw)
        expect("bytes after the last output", len(tail), 0)
        return Result(found, response.get("id", ""), response.get("model_name"), response.get("model_version"),
                      response.get("parameters") or {}, response)


def answer_of(response):
    """The Answer of an http.client response."""
    return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


@dataclass
class Result:
    """A successful inference, whatever the wire."""
    outputs: dict
    id: str = ""
    model_name: str = ""
    model_version: str = ""
    parameters: dict = field(default_factory=dict)
    source: object = None

    def __getitem__(self, name):
        assert name in self.outputs, f"outputs are {list(self.outputs)}, expected {name!r} among them"
        return self.outputs[name]


class Rest:
    """REST calls, each on its own connection, so that cases do not affect each other."""

    def __init__(self, address, timeout=TIMEOUT, tls=None):
        self.address, self.timeout, self.tls = address, timeout, tls
        self.scheme = "https" if tls else "http"

    def connection(self):
        return Connection(self.address, self.timeout, self.tls and self.tls.http1)

    def http2(self):
        """A connection for frames of HTTP/2."""
        return connect(host_and_port(self.address), self.timeout, self.tls and self.tls.http2)

    def call(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = render(body)
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
        if body is not None:
            headers = {"Content-Type": "application/json", **(headers or {})}
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return answer_of(response)
        except (OSError, http.client.HTTPException) as error:
            raise AssertionError(f"answer is {type(error).__name__} ({error}), expected an HTTP answer") from None
        finally:
            connection.close()

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=b"", headers=None):
        return self.call("POST", path, body, headers)


class Grpc:
    """gRPC calls over one channel, which reconnects by itself."""
    OPTIONS = [("grpc.max_receive_message_length", MAX_RECEIVED), ("grpc.max_send_message_length", -1),
               ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1),
               ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000)]

    def __init__(self, address, timeout=TIMEOUT, tls=None):
        self.timeout = timeout
        self.channel = tls.channel(address, self.OPTIONS, timeout) if tls else grpc.insecure_channel(address, self.OPTIONS)
        self.stub = pb.Stub(self.channel)

    def call(self, method, request, metadata=None):
        """The response message; a failure is an AssertionError that names code and details."""
        try:
            return getattr(self.stub, method)(request, timeout=self.timeout, metadata=metadata)
        except grpc.RpcError as error:
            raise AssertionError(f"gRPC status is {error.code().name} ({error.details()!r:.160}), expected OK") from None

    def refused(self, method, request, *codes):
        """The details of an error, which must have one of these codes."""
        try:
            response = getattr(self.stub, method)(request, timeout=self.timeout)
        except grpc.RpcError as error:
            assert error.code().name in codes, \
                f"gRPC status is {error.code().name} ({error.details()!r:.160}), expected {' or '.join(codes)}"
            return error.details()
        raise AssertionError(f"gRPC status is OK ({str(response)[:120]!r}), expected {' or '.join(codes)}")

    def stream(self, requests, metadata=None):
        """All response messages of a stream, which may have MAX_MESSAGES."""
        call = self.stub.ModelStreamInfer(iter(requests), timeout=self.timeout, metadata=metadata)
        found, size = [], 0
        for message in islice(call, MAX_MESSAGES + 1):
            found.append(message)
            size += message.ByteSize()
            if len(found) > MAX_MESSAGES or size > MAX_RECEIVED:
                call.cancel()
                raise AssertionError(f"stream has more than {MAX_MESSAGES} messages or {MAX_RECEIVED} bytes")
        return found

    def infer(self, request):
        return grpc_result(self.call("ModelInfer", request))


def grpc_result(response):
    """The outputs of a gRPC response, raw or typed."""
    found, raws = {}, list(response.raw_output_contents)
    if raws:
        expect("number of raw_output_contents", len(raws), len(response.outputs))
    for at, output in enumerate(response.outputs):
        kind = TYPED_FIELDS.get(output.datatype)
        if raws:
            raw = raws[at]
        else:
            expect(f"typed contents for output of {output.datatype}", kind is not None, True)
            raw = pack(output.datatype, list(getattr(output.contents, kind)))
        found[output.name] = Tensor(output.name, output.datatype, tuple(output.shape), raw)
    parameters = {key: parameter_value(value) for key, value in response.parameters.items()}
    return Result(found, response.id, response.model_name, response.model_version, parameters, response)


def parameter_value(parameter):
    chosen = parameter.WhichOneof("parameter_choice")
    return None if chosen is None else getattr(parameter, chosen)


def set_parameter(target, name, value):
    """Puts a Python value into an InferParameter: integers beyond int64 as uint64, fractions as double."""
    kind = ("bool_param" if isinstance(value, bool) else "string_param" if isinstance(value, str)
            else "double_param" if isinstance(value, float) else "uint64_param" if value >= 2**63 else "int64_param")
    setattr(target.parameters[name], kind, value)


def json_body(inputs, outputs=None, nested=False, **fields):
    """A JSON request with these tensors."""
    made = [{"name": t.name, "shape": list(t.shape), "datatype": t.datatype,
             "data": nest(to_json(t.datatype, t.raw), t.shape) if nested else to_json(t.datatype, t.raw)} for t in inputs]
    return {**fields, "inputs": made, **({} if outputs is None else {"outputs": outputs})}


def binary_body(inputs, outputs=None, tail=b"", length=None, **fields):
    """Headers and body of a request in the binary extension; tail and length serve to build invalid ones."""
    made = [{"name": t.name, "shape": list(t.shape), "datatype": t.datatype,
             "parameters": {"binary_data_size": len(t.raw)}} for t in inputs]
    head = render({**fields, "inputs": made, **({} if outputs is None else {"outputs": outputs})}).encode()
    return framed(head, b"".join(t.raw for t in inputs) + tail, length)


def framed(head, blobs, length=None):
    """Headers and body of a JSON head with blobs after it."""
    head = head if isinstance(head, bytes) else render(head).encode()
    shown = str(len(head)) if length is None else str(length)
    return {"Inference-Header-Content-Length": shown, "Content-Type": "application/octet-stream"}, head + blobs


def grpc_request(model, inputs, typed=False, version="", id="", outputs=(), parameters=None):
    """A ModelInferRequest with these tensors, raw or typed."""
    request = pb.ModelInferRequest(model_name=model, model_version=version, id=id)
    for t in inputs:
        added = request.inputs.add(name=t.name, datatype=t.datatype, shape=t.shape)
        if typed:
            getattr(added.contents, TYPED_FIELDS[t.datatype]).extend(
                element if t.datatype == "BYTES" else element.item() for element in t.elements())
        else:
            request.raw_input_contents.append(t.raw)
    for name in outputs:
        request.outputs.add(name=name)
    for name, value in (parameters or {}).items():
        set_parameter(request, name, value)
    return request
