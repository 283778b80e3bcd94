"""Every datatype in every wire form, bit by bit, and the forms compared with each other."""
from .cases import Chapter
from .client import FORMS, NotApplicable, expect
from .models import ALL
from .tensors import TYPED_FIELDS, tensor

CHAPTER = Chapter("datatypes")
case, each = CHAPTER.case, CHAPTER.each

RULES = {"json": "R12", "json-nested": "R11", "binary-in": "R16", "binary-out": "R16", "binary": "R16", "grpc-raw": "R18",
         "grpc-typed": "R18"}


def rule_of(datatype, form):
    if "binary" in form or "grpc" in form:
        return RULES[form]
    return {"FP16": "R14", "BF16": "R14", "BYTES": "R15"}.get(datatype, RULES[form])


def same(t, datatype, form):
    """The sample is returned with every bit."""
    echo = t.models.echo(datatype)
    inputs = echo.sample()
    output = t.infer(form, echo.model, inputs)[echo.output]
    expect("output", output.bits(), inputs[0].bits())


for _form in FORMS:
    for _datatype in ALL:
        if _form != "grpc-typed" or _datatype in TYPED_FIELDS:
            each(rule_of(_datatype, _form), _form, {_datatype: (_datatype, _form)})(same)


@each("R18", "crossed", {datatype: datatype for datatype in ALL})
def crossed(t, datatype):
    """The same tensors give the same outputs in every wire form."""
    echo = t.models.echo(datatype)
    forms = [form for form in FORMS if form != "grpc-typed" or datatype in TYPED_FIELDS]
    found = {form: t.infer(form, echo.model, echo.sample())[echo.output].bits() for form in forms}
    first = found["json"]
    for form, bits in found.items():
        assert bits == first, f"output over {form} is {bits}, expected that over json: {first}"


@each("R12", "sums", {form: form for form in FORMS})
def sums(t, form):
    """A model with two inputs and two outputs computes right results in each form."""
    model = t.models.need("sums")
    left, right = list(range(16)), [1] * 16
    result = t.infer(form, model, [tensor("INPUT0", "INT32", (1, 16), left), tensor("INPUT1", "INT32", (1, 16), right)])
    for name, values in (("OUTPUT0", [a + 1 for a in left]), ("OUTPUT1", [a - 1 for a in left])):
        expect(name, result[name].bits(), tensor("", "INT32", (1, 16), values).bits())


@case("R12", "digits")
def digits(t):
    """A real classifier gives the same result over all wires."""
    if t.models.name != "onnx":
        raise NotApplicable(f"the models '{t.models.name}' have no 'digits' model")
    image = [tensor("image", "FP32", (1, 64), [(i * 7 % 17) / 16 for i in range(64)])]
    found = {form: sorted((n, o.bits()) for n, o in t.infer(form, "digits", image).outputs.items()) for form in FORMS}
    for form, outputs in found.items():
        assert outputs == found["json"], f"outputs over {form} are {outputs}, expected those over json: {found['json']}"


@case("R16", "binary.large")
def large(t):
    """A megabyte through binary and raw forms."""
    echo = t.models.echo("FP32", free=True)
    inputs = echo.inputs([float(i) for i in range(1 << 18)])
    for form in ("binary", "grpc-raw"):
        output = t.infer(form, echo.model, inputs)[echo.output]
        assert output.raw == inputs[0].raw, f"output over {form} differs from the input in its 1 MiB"
