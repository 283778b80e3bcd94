"""Methods, paths, versions and the repository: R25, R6, R21."""
from .cases import Chapter
from .client import expect, grpc_request, json_body, pb
from .tensors import tensor

CHAPTER = Chapter("paths")
case, each = CHAPTER.case, CHAPTER.each


@each("R25", "method", {
    "post-live": ("POST", "/v2/health/live"), "delete-ready": ("DELETE", "/v2/health/ready"), "put-server": ("PUT", "/v2"),
    "get-infer": ("GET", "/v2/models/{m}/infer"), "put-infer": ("PUT", "/v2/models/{m}/infer"),
    "delete-model": ("DELETE", "/v2/models/{m}"), "post-model": ("POST", "/v2/models/{m}"),
    "post-model-ready": ("POST", "/v2/models/{m}/ready")})
def wrong_method(t, method, path):
    """A path that is served with another method: 405 with the error object."""
    body = b"{}" if method in ("POST", "PUT") else None
    t.rest.call(method, path.format(m=t.models.known[0]), body).refused(405)


@case("R25", "method.message")
def wrong_method_message(t):
    """The error text of a 405 is "Method Not Allowed"."""
    expect("error", t.rest.call("DELETE", "/v2/health/live").refused(405), "Method Not Allowed")


@each("R25", "unknown", {
    "root-child": "/nothing", "v2-child": "/v2/nothing", "health-child": "/v2/health/nothing", "upper-case": "/V2/health/live",
    "model-child": "/v2/models/{m}/nothing"})
def unknown_path(t, path):
    """A path that is not served: 404 with the error object."""
    t.rest.get(path.format(m=t.models.known[0])).refused(404)


@case("R25", "unknown.message")
def unknown_path_message(t):
    """The error text of such a 404 is "Not Found"."""
    expect("error", t.rest.get("/v2/nothing").refused(404), "Not Found")


@case("R25", "query-is-no-path")
def query_is_no_path(t):
    """A query does not change which path is served."""
    t.rest.get("/v2/health/live?verbose=1").ok()


@case("R25", "percent-encoded-name")
def percent_encoded_name(t):
    """The official client percent-encodes names; they are decoded."""
    name = t.models.known[0]
    expect("name", t.rest.get(f"/v2/models/{name[0]}%{ord(name[1]):02x}{name[2:]}").ok().json().get("name"), name)


@case("R25", "percent-encoded-infer")
def percent_encoded_infer(t):
    """A percent-encoded character in the name of a model is decoded."""
    echo = t.models.echo()
    name = f"%{ord(echo.model[0]):02X}{echo.model[1:]}"
    t.rest.post(f"/v2/models/{name}/infer", echo.body([1])).result()


@each("R25", "odd-name", {"unicode": "mod%C3%A8le", "slash": "a%2Fb", "space": "a%20b", "dots": "%2e%2e", "bad-escape": "a%zz",
                          "control": "a%00b", "not-utf8": "a%ffb", "long": "x" * 4000})
def odd_name(t, name):
    """An unusual name in the path is refused with 400, 404 or 414 and the error object."""
    t.rest.get(f"/v2/models/{name}").refused(400, 404, 414)


def one(t, name="INPUT0"):
    return [tensor(name, "INT32", (1,), [1])]


@case("R6", "infer.each-version")
def infer_each_version(t):
    """Each version computes its own result and is named in model_version."""
    model = t.models.need("versioned")
    for version, value in model.results.items():
        answer = t.rest.post(f"/v2/models/{model.model}/versions/{version}/infer", json_body(one(t)))
        result = answer.result()
        expect(f"result of version {version}", [int(x) for x in result[model.output].elements()], [value])
        expect("model_version", result.model_version, version)


@case("R6", "grpc.each-version")
def grpc_each_version(t):
    """Each version computes its own result and is named in model_version."""
    model = t.models.need("versioned")
    for version, value in model.results.items():
        result = t.grpc.infer(grpc_request(model.model, one(t), version=version))
        expect(f"result of version {version}", [int(x) for x in result[model.output].elements()], [value])
        expect("model_version", result.model_version, version)


@case("R6", "infer.latest-by-default")
def infer_latest(t):
    """Without a version, the latest one answers."""
    model = t.models.need("versioned")
    expect("model_version", t.rest.post(f"/v2/models/{model.model}/infer", json_body(one(t))).result().model_version,
           model.latest)


@case("R6", "grpc.latest-by-default")
def grpc_latest(t):
    """Without a version, the latest one answers."""
    model = t.models.need("versioned")
    expect("model_version", t.grpc.infer(grpc_request(model.model, one(t))).model_version, model.latest)


@case("R6", "metadata.versions")
def metadata_versions(t):
    """The metadata list all versions."""
    t.models.must("versions")
    model = t.models.need("versioned")
    expect("versions", sorted(t.rest.get(f"/v2/models/{model.model}").ok().json().get("versions") or []), sorted(model.results))


@each("R6", "ready", {"rest": True, "grpc": False})
def version_ready(t, rest):
    """Each version is ready."""
    model = t.models.need("versioned")
    for version in model.results:
        if rest:
            t.rest.get(f"/v2/models/{model.model}/versions/{version}/ready").ok()
        else:
            ready = t.grpc.call("ModelReady", pb.ModelReadyRequest(name=model.model, version=version)).ready
            expect("ready of version " + version, ready, True)


@each("R6", "unknown-version", {"number": "99", "text": "abc", "negative": "-1", "huge": "1" + "0" * 20})
def unknown_version(t, version):
    """An unknown version: 400 or 404 with the error object."""
    model = t.models.need("versioned")
    t.rest.post(f"/v2/models/{model.model}/versions/{version}/infer", json_body(one(t))).refused(400, 404)


@each("R6", "unknown-version-metadata", {"number": "99", "text": "abc"})
def unknown_version_metadata(t, version):
    """Metadata of an unknown version: 400 or 404 with the error object."""
    model = t.models.need("versioned")
    t.rest.get(f"/v2/models/{model.model}/versions/{version}").refused(400, 404)


@each("R6", "grpc.unknown-version", {"number": "99", "text": "abc"})
def grpc_unknown_version(t, version):
    """An unknown version: NOT_FOUND or INVALID_ARGUMENT."""
    model = t.models.need("versioned")
    t.grpc.refused("ModelInfer", grpc_request(model.model, one(t), version=version), "NOT_FOUND", "INVALID_ARGUMENT")


@case("R6", "unknown-version-ready")
def unknown_version_ready(t):
    """An unknown version is not ready: 400 or 404."""
    expect("status", t.rest.get(f"/v2/models/{t.models.need('versioned').model}/versions/99/ready").status, 400, 404)


# ---------------------------------------------------------------- repository

def index(t, body=b"{}"):
    t.models.need("repository")
    return t.rest.post("/v2/repository/index", body)


@each("R21", "index.body", {"object": b"{}", "empty": b"", "ready": b'{"ready":true}'})
def index_body(t, body):
    """The index is an array, with and without a body of the request."""
    found = index(t, body).ok().json()
    assert isinstance(found, list), f"index is {found!r:.80}, expected an array"


@case("R21", "index.entries")
def index_entries(t):
    """The index has each model with texts as name, version, state and reason; models that are ready have the state READY."""
    found = index(t).ok().json()
    for entry in found:
        assert isinstance(entry.get("name"), str), f"index entry is {entry!r}, expected a 'name'"
        for key in ("version", "state", "reason"):
            assert isinstance(entry.get(key, ""), str), f"{key} of {entry['name']} is {entry[key]!r}, expected a text"
    names = {entry["name"] for entry in found}
    expect("models missing in the index", sorted(set(t.models.known) - names), [])
    states = {entry["name"]: entry.get("state") for entry in found if entry["name"] in t.models.known}
    expect("states other than READY", {k: v for k, v in states.items() if v != "READY"}, {})


@case("R21", "index.grpc-is-rest")
def index_grpc(t):
    """REST and gRPC return the same index."""
    over_rest = sorted((e["name"], e.get("version", ""), e.get("state", "")) for e in index(t).ok().json())
    message = t.grpc.call("RepositoryIndex", pb.RepositoryIndexRequest())
    expect("gRPC index", sorted((m.name, m.version, m.state) for m in message.models), over_rest)


@case("R21", "index.get-refused")
def index_get(t):
    """GET of the index: 405."""
    t.models.need("repository")
    t.rest.get("/v2/repository/index").refused(405)


@case("R21", "index.not-json")
def index_not_json(t):
    """A body of the index that is no JSON: 400."""
    index(t, b"{nonsense").refused(400)


@case("R21", "load.unknown")
def load_unknown(t):
    """Loading an unknown model fails, with an error about the model."""
    t.models.need("repository")
    message = t.rest.post("/v2/repository/models/isthmus_no_such_model/load", b"{}").refused(400, 404, 403, 503)
    assert message != "Not Found", f"message is {message!r}, expected one about the model: the path is served"


@case("R21", "load.unknown-grpc")
def load_unknown_grpc(t):
    """Loading an unknown model fails, and not with an internal error."""
    t.models.need("repository")
    expect("live", t.grpc.call("ServerLive", pb.ServerLiveRequest()).live, True)
    t.grpc.refused("RepositoryModelLoad", pb.RepositoryModelLoadRequest(model_name="isthmus_no_such_model"),
                   "NOT_FOUND", "INVALID_ARGUMENT", "UNAVAILABLE", "FAILED_PRECONDITION", "PERMISSION_DENIED")


@case("R25", "server-metadata.slash")
def server_metadata_slash(t):
    """The only path for it in the official OpenAPI description."""
    expect("keys of /v2/", "name" in t.rest.get("/v2/").ok().json(), True)


@case("R25", "absolute-form")
def absolute_form(t):
    """RFC 9112, 3.2.2: a server must accept a target in absolute form."""
    t.rest.get(f"{t.rest.scheme}://{t.rest_address}/v2/health/live").ok()


def varint(data, at):
    """A varint of protobuf's encoding, as a signed 64-bit integer, and where it ends."""
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return (value ^ 1 << 63) - (1 << 63), at


def fields(data, number):
    """The values of a field of an encoded message, which has varints and byte strings only."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        if tag >> 3 == number:
            yield value


def dims(tensor_config):
    """The dimensions in the configuration of a tensor: packed varints in field 4."""
    found = []
    for packed in fields(tensor_config, 4):
        at = 0
        while at < len(packed):
            dimension, at = varint(packed, at)
            found.append(dimension)
    return found


@case("R21", "config.same-over-both")
def config_over_both(t):
    """REST and gRPC return the same configuration: its name, and the dimensions of the inputs."""
    model = t.models.need("sums")
    over_rest = t.rest.get(f"/v2/models/{model}/config").ok().json()
    config = t.grpc.call("ModelConfig", pb.ModelConfigRequest(name=model)).config
    expect("name", [over_rest["name"].encode()], list(fields(config, 1)))
    expect("dims", [each["dims"] for each in over_rest["input"]], [dims(one) for one in fields(config, 5)])


@case("R21", "index.utf-16-body")
def index_in_utf16(t):
    """A body of the index in UTF-16: 400."""
    t.rest.post("/v2/repository/index", '{"ready":true}'.encode("utf-16")).refused(400)
