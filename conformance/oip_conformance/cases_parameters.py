"""Parameters, id and requested outputs: R8, R9, R7, R19."""
import json

from .cases import Chapter
from .client import NotApplicable, expect, grpc_request
from .tensors import Token, render, tensor

CHAPTER = Chapter("parameters")
case, each = CHAPTER.case, CHAPTER.each


def given_back(t, result):
    """The request's parameters as received by the model."""
    if t.models.name == "triton":
        return json.loads(result["OUTPUT0"].elements()[0])
    plain = render(result.parameters) if result.source.__class__ is dict else json.dumps(result.parameters)
    return json.loads(plain)


def over_rest(t, parameters):
    echo = t.models.need("parameters")
    return t.rest.post(echo.path + "/infer", {**echo.body([1]), "parameters": parameters})


def seen(t, parameters):
    return given_back(t, over_rest(t, parameters).result())


_VALUES = {"text": "x", "empty-text": "", "unicode": "h\u00e9\U0001f600", "true": True, "false": False, "zero": 0, "integer": 7,
           "negative": -7, "int64-max": 2**63 - 1, "int64-min": -2**63, "beyond-double": 2**53 + 1, "fraction": 0.5,
           "fraction-negative": -1.25, "fraction-long": 0.1, "fraction-huge": 1e300}


@each("R8", "rest", {**_VALUES, "uint64": 2**63, "uint64-max": 2**64 - 1})
def rest_parameter(t, value):
    """A parameter reaches the model with type and value."""
    if isinstance(value, int) and value >= 2**63:
        t.models.must("uint64_param")
    expect("parameter", repr(seen(t, {"p": value}).get("p")), repr(value))


@each("R8", "grpc", _VALUES)
def grpc_parameter(t, value):
    """A parameter reaches the model with type and value."""
    echo = t.models.need("parameters")
    result = t.grpc.infer(grpc_request(echo.model, echo.inputs([1]), parameters={"p": value}))
    expect("parameter", repr(given_back(t, result).get("p")), repr(value))


@each("R8", "refused", {"null": None, "array": [1], "empty-array": [], "nested": {"a": {"b": 1}}, "object": {"a": 1},
                        "too-large": 2**64 + 1, "nan": Token("NaN"), "overflow": Token("1e400")})
def refused(t, value):
    """Invalid parameters are refused, but arrays and objects may be forwarded to a server that accepts them."""
    answer = over_rest(t, {"p": value})
    if t.models.name == "mlserver" and isinstance(value, (list, dict)) and answer.status == 200:
        expect("parameter", given_back(t, answer.result()).get("p"), value)
        return
    answer.refused(400)


@each("R8", "tensor", {"text": "x", "integer": 7})
def tensor_parameter(t, value):
    """Parameters of a tensor are accepted; unknown ones are ignored."""
    t.send(t.models.echo(), [1], parameters={"p": value}).result()


@each("R8", "tensor.refused", {"null": None, "array": [1], "object": {"a": 1}})
def tensor_parameter_refused(t, value):
    """A parameter of a tensor that is null, an array or an object: 400."""
    answer = t.send(t.models.echo(), [1], parameters={"p": value})
    if t.models.name != "mlserver" or answer.status != 200:
        answer.refused(400)


_ANEW = {"half": ("FP16", 1.5), "integral": ("INT32", Token("1.0")), "nan": ("FP32", Token("NaN"))}


@each("R8", "whichever-way", {f"{way}.{kind}": (*row, value) for way, row in _ANEW.items()
                              for kind, value in (("object", {"a": [1]}), ("array", [1, "b"]), ("null", None))})
def whichever_way(t, datatype, element, value):
    """The accepted parameters do not depend on whether the request has to be rewritten for the server."""
    echo = t.models.echo(datatype)
    plain, anew = (t.rest.post(echo.path + "/infer", {**echo.body([data]), "parameters": {"p": value}}) for data in (1, element))
    expect("status", anew.status, plain.status)


@each("R8", "several", {"rest": True, "grpc": False})
def several(t, rest):
    """Several parameters of different types reach the model."""
    wanted = {"a": 1, "b": "two", "c": True, "d": 0.5}
    if rest:
        found = seen(t, wanted)
    else:
        echo = t.models.need("parameters")
        found = given_back(t, t.grpc.infer(grpc_request(echo.model, echo.inputs([1]), parameters=wanted)))
    expect("parameters", {key: found.get(key) for key in wanted}, wanted)


@case("R8", "grpc.unset")
def grpc_unset(t):
    """A parameter without a value."""
    echo = t.models.need("parameters")
    request = grpc_request(echo.model, echo.inputs([1]))
    request.parameters["p"].SetInParent()
    t.grpc.refused("ModelInfer", request, "INVALID_ARGUMENT")


@each("R9", "consumed", {"binary_data_output": ("binary_data_output", False)})
def consumed(t, name, value):
    """Parameters for the gateway do not reach the model."""
    found = seen(t, {name: value, "p": 1})
    expect(f"{name} reaches the model", name in found, False)
    expect("p", found.get("p"), 1)


@each("R9", "reserved-prefix", {"rest": "triton_x", "rest-enable": "triton_enable_something"})
def reserved_prefix(t, name):
    """A parameter with the reserved prefix triton_: 400."""
    over_rest(t, {name: 1}).refused(400)


@each("R9", "accepted", {"priority": {"priority": 1}, "timeout": {"timeout": 5000000},
                         "both": {"priority": 2, "timeout": 5000000}})
def reserved_accepted(t, parameters):
    """Priority and timeout are accepted."""
    over_rest(t, parameters).result()


@each("R9", "wrong-type", {"timeout-text": {"timeout": "abc"}, "priority-text": {"priority": "abc"},
                           "sequence-start-text": {"sequence_id": 1, "sequence_start": "yes"},
                           "sequence-id-fraction": {"sequence_id": 1.5},
                           "binary-data-output-text": {"binary_data_output": "yes"}})
def reserved_wrong_type(t, parameters):
    """A reserved parameter of a wrong type: 400."""
    if t.models.name != "triton" and "binary_data_output" not in parameters:
        raise NotApplicable(f"to the server of the models '{t.models.name}' it is a parameter as any other")
    over_rest(t, parameters).refused(400)


@case("R9", "sequence")
def sequence(t):
    """sequence_id, start and end reach a stateful model: the start adds one."""
    if t.models.name != "triton":
        raise NotApplicable(f"the models '{t.models.name}' have no stateful model")
    found = []
    for start, end in ((True, False), (False, False), (False, True)):
        body = {"inputs": [{"name": "INPUT", "shape": [1, 1], "datatype": "INT32", "data": [5]}],
                "parameters": {"sequence_id": 4711, "sequence_start": start, "sequence_end": end}}
        result = t.rest.post("/v2/models/simple_sequence/infer", body).result()
        found.append(int(result["OUTPUT"].elements()[0]))
    expect("outputs", found, [6, 5, 5])


@case("R9", "classification")
def classification(t):
    """The classification parameter of an output is forwarded to the server."""
    if t.models.name != "triton":
        raise NotApplicable(f"the models '{t.models.name}' have no classification extension")
    echo = t.models.echo("FP32")
    body = {**echo.body([1, 3, 2]), "outputs": [{"name": echo.output, "parameters": {"classification": 2}}]}
    output = t.rest.post(echo.path + "/infer", body).result()[echo.output]
    expect("classes", output.elements(), [b"3.000000:1", b"2.000000:2"])


# ---------------------------------------------------------------- id

_IDS = {"text": "a-1", "unicode": "\u00e9\u4e2d\U0001f600", "quotes": "\"\\/", "space": " a ", "long": "x" * 1000,
        "newline": "a\nb"}


@each("R7", "id.rest", _IDS)
def rest_id(t, id):
    """The response has the id of the request, character by character."""
    echo = t.models.echo()
    expect("id", t.rest.post(echo.path + "/infer", {"id": id, **echo.body([1])}).result().id, id)


@each("R7", "id.grpc", _IDS)
def grpc_id(t, id):
    """The response has the id of the request, character by character."""
    echo = t.models.echo()
    expect("id", t.grpc.infer(grpc_request(echo.model, echo.inputs([1]), id=id)).id, id)


@case("R7", "id.binary")
def binary_id(t):
    """A binary response has the id of the request."""
    echo = t.models.echo()
    expect("id", t.infer("binary", echo.model, echo.inputs([1]), id="b-1").id, "b-1")


@case("R7", "id.rest.none")
def rest_no_id(t):
    """No id is invented."""
    echo = t.models.echo()
    expect("id", t.rest.post(echo.path + "/infer", echo.body([1])).result().id, "")


@case("R7", "id.grpc.none")
def grpc_no_id(t):
    """No id is invented."""
    echo = t.models.echo()
    expect("id", t.grpc.infer(grpc_request(echo.model, echo.inputs([1]))).id, "")


@each("R7", "id.refused", {"number": 42, "bool": True, "array": ["a"], "object": {}})
def wrong_id(t, id):
    """An id that is no text: 400."""
    echo = t.models.echo()
    t.rest.post(echo.path + "/infer", {"id": id, **echo.body([1])}).refused(400)


@each("R7", "model-name", {"json": "json", "binary": "binary", "grpc-raw": "grpc-raw"})
def model_name(t, form):
    """The response names the model."""
    echo = t.models.echo()
    expect("model_name", t.infer(form, echo.model, echo.inputs([1])).model_name, echo.model)


# ---------------------------------------------------------------- requested outputs

_SUMS = [tensor("INPUT0", "INT32", (1, 16), range(16)), tensor("INPUT1", "INT32", (1, 16), [1] * 16)]
_FORMS = ("json", "binary", "grpc-raw")


@each("R19", "asked", {f"{form}.{key}": (form, names, wanted) for form in _FORMS for key, (names, wanted) in {
    "first": (["OUTPUT0"], ["OUTPUT0"]), "second": (["OUTPUT1"], ["OUTPUT1"]),
    "both": (["OUTPUT0", "OUTPUT1"], ["OUTPUT0", "OUTPUT1"]), "none": ([], ["OUTPUT0", "OUTPUT1"])}.items()})
def asked(t, form, names, wanted):
    """Only requested outputs; all if none is requested."""
    result = t.infer(form, t.models.need("sums"), _SUMS, outputs=names)
    expect("outputs", sorted(result.outputs), wanted)


@case("R19", "swapped")
def swapped(t):
    """Each output has its own values, in any order of the request."""
    for form in _FORMS:
        result = t.infer(form, t.models.need("sums"), _SUMS, outputs=["OUTPUT1", "OUTPUT0"])
        expect("OUTPUT1", [int(x) for x in result["OUTPUT1"].elements()], [x - 1 for x in range(16)])
        expect("OUTPUT0", [int(x) for x in result["OUTPUT0"].elements()], [x + 1 for x in range(16)])


@each("R19", "refused", {f"{wire}.{key}": (wire, names) for wire in ("rest", "grpc") for key, names in {
    "unknown": ["nope"], "unknown-beside-known": ["OUTPUT0", "nope"], "twice": ["OUTPUT0", "OUTPUT0"]}.items()})
def outputs_refused(t, wire, names):
    """An output that the model lacks, or that is requested twice, is refused."""
    model = t.models.need("sums")
    if wire == "grpc":
        t.grpc.refused("ModelInfer", grpc_request(model, _SUMS, outputs=names), "INVALID_ARGUMENT", "NOT_FOUND")
        return
    inputs = [{"name": one.name, "shape": [1, 16], "datatype": "INT32", "data": [1] * 16} for one in _SUMS]
    t.rest.post(f"/v2/models/{model}/infer", {"inputs": inputs, "outputs": [{"name": name} for name in names]}).refused(400)


