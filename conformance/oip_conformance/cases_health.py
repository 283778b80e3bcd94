"""Health and metadata over both protocols: R1, R2, R20."""
from .cases import Chapter
from .client import binary_body, expect, pb

CHAPTER = Chapter("health")
case, each = CHAPTER.case, CHAPTER.each
NOPE = "isthmus_no_such_model"


def known_model(t):
    return t.models.known[0]


@each("R1", "rest", {"live": ("/v2/health/live", {"live": True}), "ready": ("/v2/health/ready", {"ready": True})})
def rest_health(t, path, body):
    """The body says that the server is live, or ready."""
    answer = t.rest.get(path).ok()
    expect("body", answer.body and answer.json(), body)


@each("R1", "rest.status", {"live": "/v2/health/live", "ready": "/v2/health/ready"})
def rest_health_status(t, path):
    """A server that is live, or ready, answers 200."""
    expect("status", t.rest.get(path).status, 200)


@case("R1", "rest.model-ready")
def rest_model_ready(t):
    """The body has name and readiness of the model."""
    answer = t.rest.get(f"/v2/models/{known_model(t)}/ready").ok()
    expect("body", answer.body and answer.json(), {"name": known_model(t), "ready": True})


@case("R1", "rest.model-ready.status")
def rest_model_ready_status(t):
    """A model that is ready answers 200."""
    for model in t.models.known:
        expect(f"status for {model}", t.rest.get(f"/v2/models/{model}/ready").status, 200)


@case("R1", "rest.content-type")
def rest_health_type(t):
    """The body of a health response is application/json."""
    kind = t.rest.get("/v2/health/live").ok().headers.get("content-type")
    expect("content-type", kind, "application/json")


@each("R1", "grpc", {"live": ("ServerLive", pb.ServerLiveRequest(), "live"),
                     "ready": ("ServerReady", pb.ServerReadyRequest(), "ready")})
def grpc_health(t, method, request, flag):
    """ServerLive and ServerReady return true."""
    expect(flag, getattr(t.grpc.call(method, request), flag), True)


@case("R1", "grpc.model-ready")
def grpc_model_ready(t):
    """ModelReady returns true for a model that is ready."""
    for model in t.models.known:
        expect(f"ready of {model}", t.grpc.call("ModelReady", pb.ModelReadyRequest(name=model)).ready, True)


@case("R2", "rest.ready-of-unknown")
def rest_ready_of_unknown(t):
    """Checks the status; the form of the body is checked by errors.form.unknown-model-ready."""
    expect("status", t.rest.get(f"/v2/models/{NOPE}/ready").status, 400, 404)


@case("R2", "grpc.ready-of-unknown")
def grpc_ready_of_unknown(t):
    """ModelReady of an unknown model returns false, or fails with NOT_FOUND."""
    try:
        expect("ready", t.grpc.call("ModelReady", pb.ModelReadyRequest(name=NOPE)).ready, False)
    except AssertionError as failure:
        if "NOT_FOUND" not in str(failure):
            raise AssertionError(f"{failure} with ready false, or NOT_FOUND") from None


@case("R2", "rest.metadata-of-unknown")
def rest_metadata_of_unknown(t):
    """Metadata of an unknown model: 404 with the error object."""
    t.rest.get(f"/v2/models/{NOPE}").refused(404)


@case("R2", "grpc.metadata-of-unknown")
def grpc_metadata_of_unknown(t):
    """ModelMetadata of an unknown model: NOT_FOUND."""
    t.grpc.refused("ModelMetadata", pb.ModelMetadataRequest(name=NOPE), "NOT_FOUND")


@case("R2", "rest.infer-of-unknown")
def rest_infer_of_unknown(t):
    """Inference with an unknown model: 404 with the error object."""
    t.rest.post(f"/v2/models/{NOPE}/infer", t.models.echo().body([1])).refused(404)


@case("R2", "rest.binary-infer-of-unknown")
def rest_binary_infer_of_unknown(t):
    """A binary inference with an unknown model: 404 with the error object."""
    headers, body = binary_body(t.models.echo().sample())
    t.rest.post(f"/v2/models/{NOPE}/infer", body, headers).refused(404)


@case("R2", "grpc.infer-of-unknown")
def grpc_infer_of_unknown(t):
    """ModelInfer with an unknown model: NOT_FOUND."""
    request = pb.ModelInferRequest(model_name=NOPE)
    request.inputs.add(name="INPUT0", datatype="INT32", shape=[1])
    request.raw_input_contents.append(bytes(4))
    t.grpc.refused("ModelInfer", request, "NOT_FOUND")


@case("R2", "grpc.infer-without-model-name")
def grpc_infer_without_name(t):
    """ModelInfer without a model name: INVALID_ARGUMENT or NOT_FOUND."""
    t.grpc.refused("ModelInfer", pb.ModelInferRequest(), "INVALID_ARGUMENT", "NOT_FOUND")


def texts(what, values):
    assert isinstance(values, list) and all(isinstance(value, str) for value in values), \
        f"{what} is {values!r}, expected an array of strings"
    return values


@case("R20", "rest.server-metadata")
def rest_server_metadata(t):
    """Server metadata have a name, a version and an array of extensions."""
    body = t.rest.get("/v2").ok().json()
    for key in ("name", "version"):
        assert isinstance(body.get(key), str) and body[key], f"{key} is {body.get(key)!r}, expected a text"
    texts("extensions", body.get("extensions"))


@case("R20", "server-metadata-is-one")
def server_metadata_is_one(t):
    """REST and gRPC return the same server metadata."""
    after = t.rest.get("/v2").ok().json()
    for _ in range(10):  # until REST returns the same before and after: a gateway's metadata change when a server joins
        body, message = after, t.grpc.call("ServerMetadata", pb.ServerMetadataRequest())
        after = t.rest.get("/v2").ok().json()
        if after == body:
            break
    expect("gRPC name", message.name, body["name"])
    expect("gRPC version", message.version, body["version"])
    expect("gRPC extensions", sorted(message.extensions), sorted(body["extensions"]))


@case("R20", "extension-binary-is-true")
def extension_binary_is_true(t):
    """Extensions are served if and only if the metadata list them."""
    claimed = "binary_tensor_data" in t.rest.get("/v2").ok().json()["extensions"]
    echo = t.models.echo()
    headers, body = binary_body(echo.sample())
    expect("binary_tensor_data in extensions", claimed, t.rest.post(echo.path + "/infer", body, headers).status == 200)


@case("R20", "extension-repository-is-true")
def extension_repository_is_true(t):
    """model_repository is among the extensions if and only if the index is served."""
    claimed = "model_repository" in t.rest.get("/v2").ok().json()["extensions"]
    expect("model_repository in extensions", claimed, t.rest.post("/v2/repository/index", b"{}").status == 200)


def check_tensors(kind, tensors):
    for tensor in tensors:
        for key in ("name", "datatype"):
            assert isinstance(tensor.get(key), str), f"{kind} {key} is {tensor.get(key)!r}, expected a text"
        shape = tensor.get("shape")
        assert isinstance(shape, list) and all(type(dimension) is int for dimension in shape), \
            f"{kind} shape is {shape!r}, expected integers"


@case("R20", "rest.model-metadata")
def rest_model_metadata(t):
    """Model metadata have name, platform, versions, and tensors with name, datatype and integer shape."""
    for model in t.models.known:
        body = t.rest.get(f"/v2/models/{model}").ok().json()
        expect("name", body.get("name"), model)
        expect(f"platform of {model} is a string", isinstance(body.get("platform"), str), True)
        if body.get("versions") is not None:
            texts("versions", body["versions"])
        for kind in ("inputs", "outputs"):
            check_tensors(f"{model}: {kind}", body.get(kind) or [])


@case("R20", "rest.declared-inputs")
def rest_declared_inputs(t):
    """The metadata have the inputs of the model, with datatype and last dimension."""
    model, inputs = t.models.need("metadata")
    body = t.rest.get(f"/v2/models/{model}").ok().json()
    found = {tensor["name"]: (tensor["datatype"], tensor["shape"][-1]) for tensor in body["inputs"]}
    expect("inputs", found, inputs)


@case("R20", "model-metadata-is-one")
def model_metadata_is_one(t):
    """REST and gRPC return the same model metadata."""
    model, _ = t.models.need("metadata")
    body = t.rest.get(f"/v2/models/{model}").ok().json()
    message = t.grpc.call("ModelMetadata", pb.ModelMetadataRequest(name=model))
    expect("gRPC name", message.name, body["name"])
    expect("gRPC platform", message.platform, body["platform"])
    expect("gRPC versions", list(message.versions), body.get("versions") or [])
    for kind in ("inputs", "outputs"):
        expect("gRPC " + kind, [(i.name, i.datatype, list(i.shape)) for i in getattr(message, kind)],
               [(i["name"], i["datatype"], i["shape"]) for i in body[kind]])
