"""Inference requests and responses as tensors, whichever the wire."""
import base64
import math
from dataclasses import dataclass, replace

from ..tensors import TYPED_FIELDS, Tensor, Token, from_json, pack, tensor, to_json
from .models import DATATYPES

MAX_ELEMENTS = 1 << 26


class ServerError(Exception):
    """An error response, with its HTTP status; gRPC has the code that belongs to it."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


def refuse(message):
    raise ServerError(400, message)


@dataclass
class Request:
    """A request. outputs: the names of the requested ones, empty for all; binary: which are wanted in binary form, by name."""
    id: str
    inputs: list
    outputs: list
    parameters: dict
    binary: dict
    all_binary: bool = False


def checked_shape(name, shape):
    if not isinstance(shape, list | tuple) or not all(type(dimension) is int or _digits(dimension) for dimension in shape):
        refuse(f"shape of input '{name}' is {shape!r:.80}, expected integers from 0")
    shape = tuple(int(dimension) for dimension in shape)
    if any(dimension < 0 for dimension in shape) or math.prod(shape) > MAX_ELEMENTS:
        refuse(f"shape of input '{name}' is {list(shape)!r:.80}, expected at most {MAX_ELEMENTS} elements")
    return shape


def _digits(value):
    return isinstance(value, Token) and len(value) < 20 and value.isdigit()


def checked_raw(name, datatype, shape, raw):
    """A tensor of raw bytes that fit its shape."""
    if datatype == "BYTES":
        found, at = 0, 0
        while at < len(raw):
            size = int.from_bytes(raw[at:at + 4], "little")
            at += 4 + size
            found += 1
            if at > len(raw):
                refuse(f"BYTES of input '{name}' end within an element")
        if found != math.prod(shape):
            refuse(f"input '{name}' has {found} elements, expected {math.prod(shape)} of shape {list(shape)}")
    else:
        size = len(pack(datatype, [0])) * math.prod(shape)
        if len(raw) != size:
            refuse(f"input '{name}' has {len(raw)} bytes, expected {size} of {datatype} and shape {list(shape)}")
        if datatype == "BOOL" and any(byte > 1 for byte in raw):
            refuse(f"input '{name}' has bytes other than 0 and 1, expected BOOL")
    return Tensor(name, datatype, shape, bytes(raw))


def leaves(name, data, shape):
    """The elements of flat data, or of data nested as the shape says."""
    if not isinstance(data, list):
        refuse(f"data of input '{name}' is {data!r:.80}, expected an array")
    count = math.prod(shape)
    if len(shape) <= 1 or not any(isinstance(part, list) for part in data):
        if len(data) != count:
            refuse(f"input '{name}' has {len(data)} elements, expected {count} of shape {list(shape)}")
        return data
    return _nested(name, data, shape)


def _nested(name, data, shape):
    if not isinstance(data, list) or len(data) != shape[0]:
        refuse(f"data of input '{name}' is not nested as its shape says")
    return data if len(shape) == 1 else [leaf for part in data for leaf in _nested(name, part, shape[1:])]


def json_tensor(one, name, datatype, shape):
    if "data" not in one:
        refuse(f"input '{name}' has no data, expected 'data' or 'binary_data_size'")
    try:
        found = leaves(name, one["data"], shape)
        if any(isinstance(leaf, list | dict) for leaf in found):
            refuse(f"data of input '{name}' is nested deeper than its shape")
        return Tensor(name, datatype, shape, from_json(datatype, found))
    except (AssertionError, ValueError, TypeError, AttributeError) as error:
        refuse(f"data of input '{name}': {error}")


def inputs_of_json(body, tail):
    """The inputs of a JSON request, whose binary data follow it in tail."""
    if not isinstance(body.get("inputs"), list):
        refuse("'inputs' is missing or no array")
    found = []
    for one in body["inputs"]:
        name, datatype, shape, parameters = _head(one)
        if "binary_data_size" in parameters:
            size = parameters["binary_data_size"]
            if not _digits(size) or "data" in one or tail is None:
                refuse(f"binary_data_size of input '{name}' is {size!r:.40}, expected a number of bytes after the JSON, and no data")
            raw, tail = tail[:int(size)], tail[int(size):]
            if len(raw) != int(size):
                refuse(f"input '{name}' has {len(raw)} bytes in the body, expected {size}")
            found.append(checked_raw(name, datatype, shape, raw))
        else:
            found.append(json_tensor(one, name, datatype, shape))
    if tail:
        refuse(f"{len(tail)} bytes follow the last input")
    return found


def _head(one):
    if not isinstance(one, dict) or not _text(one.get("name")) or not one["name"]:
        refuse(f"input is {one!r:.80}, expected an object with 'name'")
    name, datatype = one["name"], one.get("datatype")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        refuse(f"datatype of input '{name}' is {datatype!r:.40}, expected one of {', '.join(DATATYPES)}")
    return name, datatype, checked_shape(name, one.get("shape")), json_parameters(one, f"input '{name}'")


def _text(value):
    return isinstance(value, str) and not isinstance(value, Token)


def json_parameters(one, what):
    parameters = one.get("parameters", {})
    if not isinstance(parameters, dict) or any(isinstance(value, list | dict) or value is None for value in parameters.values()):
        refuse(f"parameters of {what} are {parameters!r:.80}, expected texts, numbers and booleans")
    return parameters


def request_of_json(body, tail):
    """A request over REST."""
    if not isinstance(body, dict):
        refuse("body is no JSON object")
    id = body.get("id", "")
    if not _text(id):
        refuse(f"id is {id!r:.40}, expected a text")
    parameters = {key: plain(value) for key, value in json_parameters(body, "the request").items()}
    wanted = parameters.pop("binary_data_output", False)
    outputs = body.get("outputs", [])
    if not isinstance(outputs, list) or not all(isinstance(one, dict) and _text(one.get("name")) for one in outputs):
        refuse("'outputs' is no array of objects with 'name'")
    binary = {one["name"]: json_parameters(one, "an output").get("binary_data", wanted) for one in outputs}
    if not all(isinstance(choice, bool) for choice in (wanted, *binary.values())):
        refuse("binary_data and binary_data_output are booleans")
    return Request(id, inputs_of_json(body, tail), [one["name"] for one in outputs], parameters, binary, wanted)


def plain(value):
    """A JSON number as an int or float."""
    if not isinstance(value, Token):
        return value
    try:
        return int(value)
    except ValueError:
        return float(value)


def inputs_of_grpc(request):
    """The inputs of a gRPC request, raw or typed."""
    raws = list(request.raw_input_contents)
    if raws and (len(raws) != len(request.inputs) or any(one.contents.ByteSize() for one in request.inputs)):
        refuse(f"raw_input_contents has {len(raws)} entries, expected one for each of {len(request.inputs)} inputs, and no contents")
    found = []
    for at, one in enumerate(request.inputs):
        if not one.name or one.datatype not in DATATYPES:
            refuse(f"input '{one.name}' has datatype '{one.datatype}', expected a name, and one of {', '.join(DATATYPES)}")
        shape = checked_shape(one.name, list(one.shape))
        found.append(checked_raw(one.name, one.datatype, shape, raws[at] if raws else typed(one)))
    return found


def typed(one):
    """The raw bytes of typed contents, which must be in the field of the datatype."""
    given = [field.name for field, _ in one.contents.ListFields()]
    field = TYPED_FIELDS.get(one.datatype)
    if given not in ([], [field]):
        refuse(f"input '{one.name}' has {', '.join(given)}, expected {field or 'raw_input_contents'} for {one.datatype}")
    try:
        return pack(one.datatype, list(getattr(one.contents, field)) if field else [])
    except OverflowError as error:
        refuse(f"contents of input '{one.name}': {error}")


def check(model, request):
    """Refuses inputs and outputs that the model does not declare."""
    declared = {spec.name: spec for spec in model.inputs}
    names = [one.name for one in request.inputs]
    if sorted(names) != sorted(declared):
        refuse(f"inputs are {names}, model '{model.name}' expects {list(declared)}")
    for one in request.inputs:
        spec = declared[one.name]
        if one.datatype != spec.datatype:
            refuse(f"datatype of input '{one.name}' is {one.datatype}, expected {spec.datatype}")
        if not spec.takes(one.shape):
            refuse(f"shape of input '{one.name}' is {list(one.shape)}, expected {list(spec.shape)}")
    outputs = [spec.name for spec in model.outputs]
    if len(set(request.outputs)) != len(request.outputs) or set(request.outputs) - set(outputs):
        refuse(f"requested outputs are {request.outputs}, model '{model.name}' has {outputs}")
    request.inputs.sort(key=lambda one: list(declared).index(one.name))


def version_of(model, version):
    if version and version not in model.versions:
        raise ServerError(404, f"version '{version}' of model '{model.name}' is not one of {list(model.versions)}")
    return version or model.versions[-1]


def answers(model, request, version, fault):
    """The outputs of each response, as requested, and with the drift of a fault."""
    for outputs in model.responses(request.inputs, version):
        asked = [one for one in outputs if not request.outputs or one.name in request.outputs]
        yield drifted(asked, fault.drift)


def drifted(outputs, drift):
    """Outputs that differ from the metadata."""
    if not outputs or drift in ("none", "metadata"):
        return outputs
    first, rest = outputs[0], outputs[1:]
    if drift == "missing":
        return rest
    if drift == "extra":
        return [*outputs, tensor("drifted", "INT32", (1,), [0])]
    if drift == "name":
        return [replace(first, name=first.name + "_drifted"), *rest]
    if drift == "shape":
        return [replace(first, shape=(1, *first.shape)), *rest]
    other = "INT64" if first.datatype != "INT64" else "FP64"
    return [tensor(first.name, other, first.shape, [0] * math.prod(first.shape)), *rest]


def json_output(one):
    """An output in JSON; BYTES that are no text in base64."""
    parameters = {}
    made = {"name": one.name, "datatype": one.datatype, "shape": list(one.shape)}
    try:
        data = to_json(one.datatype, one.raw)
    except UnicodeDecodeError:
        data = [base64.b64encode(element).decode() for element in one.elements()]
        parameters["content_type"] = "base64"
    return {**made, **({"parameters": parameters} if parameters else {}), "data": data}
