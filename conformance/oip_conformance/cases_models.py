"""Any model with declared inputs: its responses agree with its metadata, in every form. R20."""
import math

from .cases import Chapter
from .client import FORMS, NotApplicable, expect
from .tensors import TYPED_FIELDS, tensor

CHAPTER = Chapter("models")
case, each = CHAPTER.case, CHAPTER.each


def metadata_of(t, model):
    return t.rest.get(f"/v2/models/{model}").ok().json()


def inputs_of(metadata):
    """An input of zeros, or of empty text, for each declared one; variable dimensions are 1."""
    made = []
    for one in metadata["inputs"]:
        shape = tuple(1 if dimension < 0 else dimension for dimension in one["shape"])
        zero = b"" if one["datatype"] == "BYTES" else 0
        made.append(tensor(one["name"], one["datatype"], shape, [zero] * math.prod(shape)))
    return made


def generic(t):
    """The metadata of each generic model."""
    if not t.models.generic:
        raise NotApplicable(f"none of the models '{t.models.name}' takes any values of declared inputs")
    for name in t.models.generic:
        metadata = metadata_of(t, name)
        if not metadata.get("inputs"):
            raise NotApplicable(f"'{name}' declares no inputs")
        yield name, metadata


def agrees(name, metadata, result, wanted=None):
    """Names, datatypes and shapes of the outputs are the declared ones."""
    declared = {one["name"]: one for one in metadata["outputs"]}
    expect(f"outputs of '{name}'", sorted(result.outputs), sorted(wanted or declared))
    for output in result.outputs.values():
        expect(f"datatype of '{output.name}'", output.datatype, declared[output.name]["datatype"])
        shape = declared[output.name]["shape"]
        fits = len(shape) == len(output.shape) and all(d < 0 or d == found for d, found in zip(shape, output.shape))
        assert fits, f"shape of '{output.name}' is {list(output.shape)}, expected {shape}"
        expect(f"number of elements of '{output.name}'", len(output.elements()), math.prod(output.shape))


def answered(t, form, name, metadata, **fields):
    inputs = inputs_of(metadata)
    if form == "grpc-typed" and any(one.datatype not in TYPED_FIELDS for one in inputs):
        raise NotApplicable(f"'{name}' has inputs without typed contents")
    return t.infer(form, name, inputs, **fields)


@each("R20", "answer", {form: form for form in FORMS if not form.startswith(("grpc", "binary"))})
def json_answer(t, form):
    """The outputs have the names, datatypes and shapes of the metadata."""
    for name, metadata in generic(t):
        agrees(name, metadata, answered(t, form, name, metadata))


@each("R20", "binary", {form: form for form in FORMS if form.startswith("binary")})
def binary_answer(t, form):
    """The outputs have the names, datatypes and shapes of the metadata."""
    for name, metadata in generic(t):
        agrees(name, metadata, answered(t, form, name, metadata))


@each("R20", "grpc", {form: form for form in FORMS if form.startswith("grpc")})
def grpc_answer(t, form):
    """The outputs have the names, datatypes and shapes of the metadata."""
    for name, metadata in generic(t):
        agrees(name, metadata, answered(t, form, name, metadata))


@case("R7", "id-and-name")
def id_and_name(t):
    """The response has the id of the request and the name of the model."""
    for name, metadata in generic(t):
        result = answered(t, "json", name, metadata, id="models-1")
        expect("id", result.id, "models-1")
        expect("model_name", result.model_name, name)


@case("R19", "one-output")
def one_output(t):
    """Of the declared outputs only the requested one is returned."""
    for name, metadata in generic(t):
        first = metadata["outputs"][0]["name"]
        agrees(name, metadata, answered(t, "json", name, metadata, outputs=[first]), [first])


@case("R5", "missing-input")
def missing_input(t):
    """A request without one of the declared inputs is refused."""
    for name, metadata in generic(t):
        body = {"inputs": [{"name": one.name, "shape": list(one.shape), "datatype": one.datatype, "data": data_of(one)}
                           for one in inputs_of(metadata)[1:]]}
        t.rest.post(f"/v2/models/{name}/infer", body).refused(400)


def data_of(one):
    return [element.decode() if one.datatype == "BYTES" else element.item() for element in one.elements()]


@case("R5", "wrong-datatype")
def wrong_datatype(t):
    """An input with another datatype than the declared one is refused."""
    for name, metadata in generic(t):
        inputs = [{"name": one.name, "shape": list(one.shape), "datatype": "BOOL" if one.datatype != "BOOL" else "INT32",
                   "data": [one.datatype != "BOOL" or 0] * math.prod(one.shape)} for one in inputs_of(metadata)]
        t.rest.post(f"/v2/models/{name}/infer", {"inputs": inputs}).refused(400)
