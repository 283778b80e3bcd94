"""Shapes and counts: R11."""
from .cases import Chapter
from .client import binary_body, expect, framed, grpc_request, pb
from .tensors import Tensor, Token, tensor

CHAPTER = Chapter("shapes")
case, each = CHAPTER.case, CHAPTER.each


def fp32(t):
    return t.models.echo(free=True)


@each("R11", "refused", {
    "too-few": ([1, 3], [1, 2]), "too-many": ([1, 3], [1, 2, 3, 4]), "far-too-few": ([1, 1000000], [1]),
    "none": ([1, 3], []), "some-for-zero": ([1, 0], [1]),
    "ragged": ([2, 2], [[1, 2, 3], [4]]), "ragged-missing": ([2, 2], [[1, 2], [3]]),
    "nested-otherwise": ([2, 3], [[1, 2], [3, 4], [5, 6]]), "nested-half": ([2, 2], [[1, 2], 3, 4]),
    "nested-too-deep": ([2, 2], [[[1], [2]], [[3], [4]]]),
    "negative": ([1, -1], [1]), "negative-both": ([-1, -1], [1]), "fraction": ([1, Token("1.5")], [1]),
    "text": ([1, "1"], [1]), "null": ([1, None], [1]), "bool": ([1, True], [1]), "nested-shape": ([[1], 1], [1]),
    "huge": ([1, 2**40], [1]), "beyond-int64": ([1, 2**63], [1]), "beyond-uint64": ([1, 2**64 + 1], [1]),
    "overflow-32": ([2**32, 2**32], [1]), "overflow-to-one": ([2**63 + 1, 2], [1, 2]), "overflow-zero": ([2**32, 2**32, 0], [1]),
}, dangerous=("huge", "beyond-int64", "beyond-uint64", "overflow-32", "overflow-to-one", "overflow-zero"))
def refused(t, shape, data):
    """Shape and data that do not fit, or a shape that is none: 400."""
    t.send(fp32(t), data, shape).refused(400)


@each("R11", "refused.rank", {"three": ([1, 1, 1], [1]), "one": ([1], [1])})
def rank(t, shape, data):
    """A model with declared dimensions refuses another number of dimensions."""
    model, inputs = t.models.need("metadata")
    made = [{"name": name, "shape": shape, "datatype": datatype, "data": data} for name, (datatype, _) in inputs.items()]
    t.rest.post(f"/v2/models/{model}/infer", {"inputs": made}).refused(400)


@each("R11", "many-dimensions", {"hundred": 100, "ten-thousand": 10000}, dangerous=("ten-thousand",))
def many_dimensions(t, count):
    """Very many dimensions are accepted or refused, never a server error."""
    answer = t.send(fp32(t), [1], [1] * count)
    assert answer.status < 500, f"status is {answer.status}, expected 200 or 400"
    t.rest.get("/v2/health/live").ok()


@each("R11", "accepted", {"flat": ([2, 3], [1, 2, 3, 4, 5, 6]), "nested": ([2, 3], [[1, 2, 3], [4, 5, 6]]),
                          "nested-row": ([1, 3], [[1, 2, 3]])})
def accepted(t, shape, data):
    """Flat and nested data are equal."""
    echo = fp32(t)
    output = t.send(echo, data, shape).result()[echo.output]
    count = shape[0] * shape[1]
    expect("output", output.bits(), tensor("", "FP32", shape, range(1, count + 1)).bits())


@each("R11", "accepted.three-dimensions", {
    "flat": [1, 2, 3, 4, 5, 6, 7, 8], "nested": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]})
def three_dimensions(t, data):
    """Data of three dimensions, flat or nested, keep their shape."""
    echo = t.models.echo("FP32", any_rank=True)
    output = t.send(echo, data, [2, 2, 2]).result()[echo.output]
    expect("output", output.bits(), tensor("", "FP32", (2, 2, 2), range(1, 9)).bits())


@each("R11", "zero", {f"{form}.{datatype}": (form, datatype) for datatype in ("FP32", "INT64", "BYTES")
                      for form in ("json", "binary", "binary-in", "binary-out", "grpc-raw")})
def zero(t, form, datatype):
    """A tensor with a dimension of 0 has no elements, and keeps its shape."""
    echo = t.models.echo(datatype, free=True)
    output = t.infer(form, echo.model, echo.inputs([], (2, 0)))[echo.output]
    expect("output", output.bits(), f"{datatype}[2, 0] ")


@case("R11", "zero.nested")
def zero_nested(t):
    """Nested data without elements keep their shape."""
    echo = fp32(t)
    expect("shape", t.send(echo, [[], []], [2, 0]).result()[echo.output].shape, (2, 0))


@each("R11", "scalar", {f"{form}.{datatype}": (form, datatype) for datatype in ("FP32", "BYTES")
                        for form in ("json", "binary", "grpc-raw", "grpc-typed")})
def scalar(t, form, datatype):
    """The shape [] has one element, and stays []."""
    echo = t.models.echo(datatype, any_rank=True)
    value = b"one" if datatype == "BYTES" else 1.5
    inputs = [tensor(echo.input, datatype, (), [value])]
    output = t.infer(form, echo.model, inputs)[echo.output]
    expect("output", output.bits(), inputs[0].bits())


@each("R11", "scalar.refused", {"none": [], "two": [1, 2]})
def scalar_refused(t, data):
    """The shape [] takes one element only."""
    t.send(fp32(t), data, []).refused(400)


@each("R11", "binary.refused", {
    "short": ([1, 3], 8), "long": ([1, 3], 16), "ragged": ([1, 3], 11), "none": ([1, 3], 0), "some-for-zero": ([1, 0], 4),
    "negative": ([1, -3], 12), "overflow": ([2**32, 2**32], 4)}, dangerous=("overflow",))
def binary_refused(t, shape, size):
    """Size and shape of a binary tensor must agree."""
    echo = fp32(t)
    headers, body = binary_body([Tensor(echo.input, "FP32", tuple(shape), bytes(size))])
    t.rest.post(echo.path + "/infer", body, headers).refused(400)


@each("R11", "grpc.raw.refused", {
    "short": ([1, 3], 8), "long": ([1, 3], 16), "ragged": ([1, 3], 11), "none": ([1, 3], 0), "some-for-zero": ([1, 0], 4),
    "negative": ([1, -3], 12), "overflow": ([2**32, 2**32], 4)}, dangerous=("overflow",))
def grpc_raw_refused(t, shape, size):
    """Raw bytes that do not fit the shape: INVALID_ARGUMENT."""
    echo = fp32(t)
    t.grpc.refused("ModelInfer", grpc_request(echo.model, [Tensor(echo.input, "FP32", tuple(shape), bytes(size))]),
                   "INVALID_ARGUMENT")


@each("R11", "grpc.typed.refused", {"few": ([1, 3], 2), "many": ([1, 3], 4), "none": ([1, 3], 0), "negative": ([1, -1], 1)})
def grpc_typed_refused(t, shape, count):
    """Typed contents that do not fit the shape: INVALID_ARGUMENT."""
    echo = fp32(t)
    request = pb.ModelInferRequest(model_name=echo.model)
    added = request.inputs.add(name=echo.input, datatype="FP32", shape=shape)
    added.contents.fp32_contents.extend([1.0] * count)
    t.grpc.refused("ModelInfer", request, "INVALID_ARGUMENT")


@case("R11", "binary.bytes-count")
def binary_bytes_count(t):
    """The number of BYTES elements must match the shape."""
    echo = t.models.echo("BYTES", free=True)
    raw = tensor("", "BYTES", (), [b"ab"]).raw
    head = {"inputs": [{"name": echo.input, "shape": list(echo.shape(2)), "datatype": "BYTES",
                        "parameters": {"binary_data_size": len(raw)}}]}
    headers, body = framed(head, raw)
    t.rest.post(echo.path + "/infer", body, headers).refused(400)
