"""Contents and raw contents on gRPC: R18."""
import grpc

from .cases import Chapter
from .client import expect, grpc_request, grpc_result, pb
from .tensors import pack, tensor

CHAPTER = Chapter("grpc")
case, each = CHAPTER.case, CHAPTER.each


def bare(echo, datatype=None, shape=None):
    """A request with one input and no data."""
    request = pb.ModelInferRequest(model_name=echo.model)
    request.inputs.add(name=echo.input, datatype=datatype or echo.datatype, shape=shape or echo.shape(1))
    return request


def refused(t, request):
    t.grpc.refused("ModelInfer", request, "INVALID_ARGUMENT")


@case("R18", "raw-and-typed")
def raw_and_typed(t):
    """Raw and typed contents of one input: INVALID_ARGUMENT."""
    request = bare(t.models.echo("FP32"))
    request.inputs[0].contents.fp32_contents.append(1.0)
    request.raw_input_contents.append(pack("FP32", [1.0]))
    refused(t, request)


@case("R18", "raw-and-empty-contents")
def raw_and_empty(t):
    """An empty contents message counts as no data: MLServer's client writes one with raw contents."""
    echo = t.models.echo("FP32")
    request = bare(echo)
    request.inputs[0].contents.SetInParent()
    request.raw_input_contents.append(pack("FP32", [1.0]))
    expect("output", t.grpc.infer(request)[echo.output].raw, pack("FP32", [1.0]))


@case("R18", "raw-for-one-typed-for-other")
def raw_for_one(t):
    """Raw contents for one input and typed ones for another: INVALID_ARGUMENT."""
    request = pb.ModelInferRequest(model_name=t.models.need("sums"))
    for name in ("INPUT0", "INPUT1"):
        request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
    request.inputs[0].contents.int_contents.extend([1] * 16)
    request.raw_input_contents.append(bytes(64))
    refused(t, request)


@each("R18", "raw-count", {"many": 2, "more": 5})
def raw_count(t, count):
    """More raw contents than inputs: INVALID_ARGUMENT."""
    request = bare(t.models.echo("FP32"))
    request.raw_input_contents.extend([pack("FP32", [1.0])] * count)
    refused(t, request)


@case("R18", "raw-count.few")
def raw_count_few(t):
    """Fewer raw contents than inputs: INVALID_ARGUMENT."""
    request = pb.ModelInferRequest(model_name=t.models.need("sums"))
    for name in ("INPUT0", "INPUT1"):
        request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
    request.raw_input_contents.append(bytes(64))
    refused(t, request)


@case("R18", "no-data")
def no_data(t):
    """An input without contents: INVALID_ARGUMENT."""
    refused(t, bare(t.models.echo("FP32")))


_WRONG = {"fp32-as-int": ("FP32", "int_contents", 1), "fp32-as-fp64": ("FP32", "fp64_contents", 1.0),
          "int32-as-uint": ("INT32", "uint_contents", 1),
          "int32-as-int64": ("INT32", "int64_contents", 1), "int64-as-int": ("INT64", "int_contents", 1),
          "uint8-as-int": ("UINT8", "int_contents", 1),
          "bool-as-int": ("BOOL", "int_contents", 1), "bytes-as-fp32": ("BYTES", "fp32_contents", 1.0),
          "fp64-as-fp32": ("FP64", "fp32_contents", 1.0)}


@each("R18", "wrong-field", _WRONG)
def wrong_field(t, datatype, kind, value):
    """Contents in the field of another datatype: INVALID_ARGUMENT."""
    request = bare(t.models.echo(datatype))
    getattr(request.inputs[0].contents, kind).append(value)
    refused(t, request)


@each("R18", "two-fields", {"fp32-int": ("FP32", "fp32_contents", "int_contents"),
                            "int32-int64": ("INT32", "int_contents", "int64_contents")})
def two_fields(t, datatype, right, wrong):
    """Contents in two fields: INVALID_ARGUMENT."""
    request = bare(t.models.echo(datatype))
    for kind in (right, wrong):
        getattr(request.inputs[0].contents, kind).append(1)
    refused(t, request)


@each("R18", "narrow", {"uint8": ("UINT8", "uint_contents", 300, 44), "uint16": ("UINT16", "uint_contents", 65537, 1),
                        "int8": ("INT8", "int_contents", 300, 44), "int16": ("INT16", "int_contents", -40000, 25536)})
def narrow(t, datatype, kind, value, low):
    """A value out of the datatype's range is refused or truncated to its low bytes; nothing else."""
    echo = t.models.echo(datatype)
    request = bare(echo)
    getattr(request.inputs[0].contents, kind).append(value)
    try:
        response = t.grpc.stub.ModelInfer(request, timeout=t.timeout)
    except grpc.RpcError as error:
        expect("gRPC status", error.code().name, "INVALID_ARGUMENT")
        return
    expect("element", int(grpc_result(response)[echo.output].elements()[0]), low)


@each("R18", "datatype", {"unknown": "FP99", "empty": "", "lower-case": "fp32"})
def datatype(t, name):
    """A datatype that does not exist: INVALID_ARGUMENT."""
    echo = t.models.echo("FP32")
    request = bare(echo)
    request.inputs[0].datatype = name
    request.raw_input_contents.append(pack("FP32", [1.0]))
    refused(t, request)


@case("R18", "no-name")
def no_name(t):
    """An input without a name: INVALID_ARGUMENT."""
    request = bare(t.models.echo("FP32"))
    request.inputs[0].name = ""
    request.raw_input_contents.append(pack("FP32", [1.0]))
    refused(t, request)


@case("R18", "input-twice")
def input_twice(t):
    """The same input twice: INVALID_ARGUMENT."""
    request = grpc_request(t.models.echo("FP32").model, t.models.echo("FP32").inputs([1]) * 2)
    refused(t, request)


@case("R18", "zero-size-typed")
def zero_size_typed(t):
    """An input without elements needs no contents."""
    echo = t.models.echo("FP32", free=True)
    output = t.grpc.infer(bare(echo, shape=[2, 0]))[echo.output]
    expect("output", output.bits(), "FP32[2, 0] ")


@each("R18", "nan", {"raw": "grpc-raw", "typed": "grpc-typed"})
def nan(t, form):
    """NaN and infinities arrive."""
    echo = t.models.echo("FP32")
    output = t.infer(form, echo.model, echo.inputs([float("nan"), float("inf"), 1.0]))[echo.output]
    expect("values", [str(float(v)) for v in output.elements()], ["nan", "inf", "1.0"])


@each("R18", "order", {"raw": "grpc-raw", "typed": "grpc-typed"})
def order(t, form):
    """Contents belong to inputs by position, not by name."""
    inputs = [tensor("INPUT1", "INT32", (1, 16), [1] * 16), tensor("INPUT0", "INT32", (1, 16), range(16))]
    result = t.infer(form, t.models.need("sums"), inputs)
    expect("OUTPUT1", [int(x) for x in result["OUTPUT1"].elements()], [x - 1 for x in range(16)])


def sent(t, message):
    """The status code of an inference with these bytes as its message."""
    call = t.grpc.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    try:
        call(message, timeout=t.timeout)
        return "OK"
    except grpc.RpcError as failure:
        return failure.code().name


def encoded(t):
    """A valid request without its data: the status code after appending these bytes."""
    echo = t.models.echo("FP32")
    return bare(echo, shape=echo.shape(2)).SerializeToString(), echo


@each("R5", "varint", {"long-tag": b"\xaa\x80\x80\x80\x80\x80\x00\x00", "wide": b"\x50" + b"\xff" * 9 + b"\x7f"})
def broken_varint(t, field):
    """A malformed varint: INVALID_ARGUMENT."""
    head, _ = encoded(t)
    expect("status", sent(t, head + b"\x3a\x08" + bytes(8) + field), "INVALID_ARGUMENT")


@each("R5", "parsers-take", {
    "unknown-group": b"\xa3\x06\x08\x01\xa4\x06", "unknown-field": b"\xa0\x06\x01", "other-wire-type": b"\x18\x05"})
def parsers_take(t, field):
    """What protobuf parsers skip: unknown fields of any wire type, known fields of a wrong wire type."""
    head, _ = encoded(t)
    expect("status", sent(t, head + b"\x3a\x08" + bytes(8) + field), "OK")


@case("R5", "contents-in-pieces")
def contents_in_pieces(t):
    """A repeated occurrence of a message field is merged."""
    echo = t.models.echo("FP32")
    request = bare(echo, shape=echo.shape(2))
    piece = pb.InferTensorContents(fp32_contents=[1.0]).SerializeToString()
    tensor_bytes = request.inputs[0].SerializeToString() + 2 * (b"\x2a" + bytes([len(piece)]) + piece)
    del request.inputs[:]
    expect("status", sent(t, request.SerializeToString() + b"\x2a" + bytes([len(tensor_bytes)]) + tensor_bytes), "OK")
