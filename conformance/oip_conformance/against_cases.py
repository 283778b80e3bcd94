"""Requests that change nothing on a server, for 'oip-conformance against'. A case returns the answer, which is compared.

The endpoint t is an against.Side: it has the model to which requests go, and the extensions of the server.
"""
import gzip
from dataclasses import replace

import grpc

from . import messages as pb
from .cases import Chapter
from .client import NotApplicable, binary_body, grpc_request, json_body, set_parameter
from .tensors import TYPED_FIELDS, render, to_json

REST, GRPC = Chapter("rest"), Chapter("grpc")
UNKNOWN, NO_VERSION, PARAMETERS = "no-model-of-this-name", "987654321", {"against_text": "a", "against_number": 1, "against_flag": True}
# Header fields that belong to the connection or the moment, not to the answer.
PASSING = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


def version(t):
    if not t.model.versions:
        raise NotApplicable("the model's metadata list no versions")
    return t.model.versions[-1]


def classified(t):
    if "classification" not in t.extensions:
        raise NotApplicable("the server has no extension 'classification'")
    return t.model.outputs[0]


def other(t):
    """A datatype that the first input has not."""
    return "INT64" if t.model.inputs[0].datatype == "FP32" else "FP32"


def infer(t, body, headers=None, model=None):
    return t.rest.post(f"/v2{model or t.model.path}/infer", body, headers)


def body(t, *outputs, **fields):
    return json_body(t.model.inputs, [{"name": name} for name in outputs] or None, **fields)


def changed(t, **fields):
    """The JSON request with changes to its first input; a field that is None goes."""
    made = body(t)
    made["inputs"][0] = {key: value for key, value in {**made["inputs"][0], **fields}.items() if value is not None}
    return made


def binary(t, cut=0, length=None, output=True):
    headers, made = binary_body(t.model.inputs, length=length, parameters={"binary_data_output": output})
    return infer(t, made[:len(made) - cut], headers)


@REST.each("R2", "get", {
    "live": lambda t: "/health/live", "ready": lambda t: "/health/ready", "live-with-slash": lambda t: "/health/live/",
    "model-ready": lambda t: f"{t.model.path}/ready", "unknown-model-ready": lambda t: f"/models/{UNKNOWN}/ready",
    "server-metadata": lambda t: "", "model-metadata": lambda t: t.model.path,
    "unknown-model-metadata": lambda t: f"/models/{UNKNOWN}",
    "version-metadata": lambda t: f"{t.model.path}/versions/{version(t)}",
    "unknown-version-metadata": lambda t: f"{t.model.path}/versions/{NO_VERSION}",
    "model-config": lambda t: f"{t.model.path}/config", "unknown-path": lambda t: "/no/such/path",
    "infer-with-get": lambda t: f"{t.model.path}/infer"})
def get(t, path):
    return t.rest.get("/v2" + path(t))


@REST.each("R7", "infer", {
    "plain": body, "nested": lambda t: body(t, nested=True), "id": lambda t: body(t, id="an id"),
    "one-output": lambda t: body(t, t.model.outputs[0]), "parameters": lambda t: body(t, parameters=PARAMETERS),
    "binary-output": lambda t: body(t, parameters={"binary_data_output": True}),
    "classification": lambda t: {**body(t), "outputs": [{"name": classified(t), "parameters": {"classification": 1}}]}})
@REST.each("R11", "refused", {
    "other-datatype": lambda t: changed(t, datatype=other(t)), "unknown-datatype": lambda t: changed(t, datatype="FP99"),
    "too-few-elements": lambda t: changed(t, data=to_json(t.model.inputs[0].datatype, t.model.inputs[0].raw)[:-1]),
    "other-rank": lambda t: changed(t, shape=[*t.model.inputs[0].shape, 1, 1]), "negative-shape": lambda t: changed(t, shape=[-1]),
    "no-shape": lambda t: changed(t, shape=None), "no-data": lambda t: changed(t, data=None),
    "unknown-input": lambda t: changed(t, name="no-input-of-this-name"), "no-inputs": lambda t: json_body([]),
    "unknown-output": lambda t: body(t, "no-output-of-this-name"), "number-as-id": lambda t: body(t, id=7),
    "object-as-parameter": lambda t: body(t, parameters={"p": {}}), "half-a-json": lambda t: '{"inputs": [',
    "array": lambda t: "[]", "empty": lambda t: b""})
def json_infer(t, made):
    return infer(t, made(t))


@REST.each("R16", "infer", {
    "binary": binary, "binary-input": lambda t: binary(t, output=False),
    "gzip": lambda t: infer(t, gzip.compress(render(body(t)).encode()), {"Content-Encoding": "gzip"}),
    "accept-gzip": lambda t: infer(t, body(t), {"Accept-Encoding": "gzip"}),
    "text-plain": lambda t: infer(t, body(t), {"Content-Type": "text/plain"}),
    "header-fields": lambda t: {"fields": sorted(set(infer(t, body(t)).headers) - PASSING)}})
@REST.each("R16", "refused", {
    "binary-too-short": lambda t: binary(t, cut=1), "binary-header-length": lambda t: binary(t, length=1 << 30),
    "unknown-model": lambda t: infer(t, body(t), model="/models/" + UNKNOWN),
    "unknown-version": lambda t: infer(t, body(t), model=f"{t.model.path}/versions/{NO_VERSION}")})
@REST.each("R21", "index", {"all": lambda t: t.rest.post("/v2/repository/index", {}),
                            "ready": lambda t: t.rest.post("/v2/repository/index", {"ready": True})})
def sent(t, send):
    return send(t)


def ask(t, method, request):
    """Code, details and messages of a call."""
    try:
        messages = t.grpc.stream([request]) if method == "ModelStreamInfer" else [getattr(t.grpc.stub, method)(request, timeout=t.timeout)]
        return {"status": "OK", "details": "", "messages": messages}
    except grpc.RpcError as error:
        return {"status": error.code().name, "details": error.details() or "", "messages": []}


@GRPC.each("R2", "get", {
    "live": ("ServerLive", lambda t: {}), "ready": ("ServerReady", lambda t: {}),
    "model-ready": ("ModelReady", lambda t: {"name": t.model.name}), "unknown-model-ready": ("ModelReady", lambda t: {"name": UNKNOWN}),
    "server-metadata": ("ServerMetadata", lambda t: {}), "model-metadata": ("ModelMetadata", lambda t: {"name": t.model.name}),
    "unknown-model-metadata": ("ModelMetadata", lambda t: {"name": UNKNOWN}),
    "model-config": ("ModelConfig", lambda t: {"name": t.model.name}), "index": ("RepositoryIndex", lambda t: {})})
def grpc_get(t, method, fields):
    return ask(t, method, pb.request_type(method)(**fields(t)))


def request(t, model=None, change=None, **options):
    """An inference; change has fields of its first input."""
    inputs = [replace(t.model.inputs[0], **change or {}), *t.model.inputs[1:]]
    if options.get("typed") and any(one.datatype not in TYPED_FIELDS for one in inputs):
        raise NotApplicable("the protocol has no typed contents for this datatype")
    return grpc_request(model or t.model.name, inputs, **options)


def classifying(t):
    made = request(t, outputs=[classified(t)])
    set_parameter(made.outputs[0], "classification", 1)
    return made


@GRPC.each("R10", "infer", {
    "raw": request, "typed": lambda t: request(t, typed=True), "id": lambda t: request(t, id="an id"),
    "one-output": lambda t: request(t, outputs=t.model.outputs[:1]), "classification": classifying,
    "parameters": lambda t: request(t, parameters=PARAMETERS)})
@GRPC.each("R10", "refused", {
    "unknown-model": lambda t: request(t, UNKNOWN), "unknown-version": lambda t: request(t, version=NO_VERSION),
    "other-datatype": lambda t: request(t, change={"datatype": other(t)}), "no-inputs": lambda t: grpc_request(t.model.name, []),
    "unknown-datatype": lambda t: request(t, change={"datatype": "FP99"}),
    "unknown-input": lambda t: request(t, change={"name": "no-input-of-this-name"}),
    "too-few-bytes": lambda t: request(t, change={"raw": t.model.inputs[0].raw[:-1]})})
@GRPC.each("R17", "stream", {"infer": (lambda t: request(t, id="an id"), "ModelStreamInfer"),
                             "unknown-model": (lambda t: request(t, UNKNOWN, id="an id"), "ModelStreamInfer")})
def grpc_infer(t, made, method="ModelInfer"):
    return ask(t, method, made(t))
