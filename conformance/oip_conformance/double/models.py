"""The models of a double: V2 metadata, and what their responses contain."""
import json
import math
import time
from dataclasses import dataclass

import numpy

from ..tensors import DTYPES, Tensor, from_json, pack
from .faults import NONE, Fault, FaultError

DATATYPES = (*DTYPES, "BYTES")
ANSWERS = ("echo", "zeros", "counting", "sums", "sleep", "version", "repeat", "values")


class ModelError(Exception):
    """A model file that cannot be used; the message names what is wrong in it."""


@dataclass(frozen=True)
class Spec:
    """A declared tensor; -1 is a variable dimension."""
    name: str
    datatype: str
    shape: tuple

    def metadata(self):
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}

    def takes(self, shape):
        return len(shape) == len(self.shape) and all(own in (-1, given) for own, given in zip(self.shape, shape))


@dataclass(frozen=True)
class Model:
    """A model. answers: how the values of its outputs are made; values: of outputs with fixed ones, as raw bytes."""
    name: str
    versions: tuple
    platform: str
    inputs: tuple
    outputs: tuple
    answers: str
    values: dict
    returns_parameters: bool
    fault: Fault

    def metadata(self, drifts=False):
        outputs = [spec.metadata() for spec in self.outputs]
        if drifts:
            for output in outputs:
                output["shape"] = [*output["shape"], 1]
        return {"name": self.name, "versions": list(self.versions), "platform": self.platform,
                "inputs": [spec.metadata() for spec in self.inputs], "outputs": outputs}

    def responses(self, inputs, version):
        """The outputs of each response: one, or as many as the first input has elements if the model repeats."""
        if self.answers == "repeat":
            name, datatype = inputs[0].name, inputs[0].datatype
            return [self._outputs([Tensor(name, datatype, (1,), pack(datatype, [value]))], version) for value in inputs[0].elements()]
        return [self._outputs(inputs, version)]

    def _outputs(self, inputs, version):
        if self.answers == "sleep":
            time.sleep(max(0, min(60_000, int(inputs[0].elements()[0]))) / 1000)
        if self.answers == "sums":
            return self._sums(inputs)
        return [self._output(spec, at, inputs, version) for at, spec in enumerate(self.outputs)]

    def _sums(self, inputs):
        left, right = (numpy.frombuffer(one.raw, DTYPES[one.datatype]) for one in inputs[:2])
        with numpy.errstate(over="ignore"):
            made = (left + right, left - right)
        return [Tensor(spec.name, spec.datatype, inputs[0].shape, values.astype(DTYPES[spec.datatype]).tobytes())
                for spec, values in zip(self.outputs, made)]

    def _output(self, spec, at, inputs, version):
        if spec.name in self.values:
            raw, count = self.values[spec.name]
            return Tensor(spec.name, spec.datatype, filled(spec.shape, count), raw)
        source = inputs[at] if at < len(inputs) else inputs[0] if inputs else None
        if self.answers in ("echo", "sleep", "version", "repeat") and source and source.datatype == spec.datatype:
            return Tensor(spec.name, spec.datatype, source.shape, self._changed(source, version))
        shape = _shape(spec, source)
        count = math.prod(shape)
        return Tensor(spec.name, spec.datatype, shape, made(spec.datatype, count, self.answers == "counting"))

    def _changed(self, source, version):
        if self.answers != "version":
            return source.raw
        return pack(source.datatype, [int(value) + int(version) for value in source.elements()])


def made(datatype, count, counting):
    """The raw bytes of zeros, or of 0, 1, 2, ..."""
    if datatype == "BYTES":
        return pack("BYTES", [str(n).encode() if counting else b"" for n in range(count)])
    values = numpy.arange(count) % 100 if counting else numpy.zeros(count)
    return values.astype(DTYPES[datatype]).tobytes()


def _shape(spec, source):
    """Variable dimensions are those of the input where it has as many, otherwise 1."""
    like = source.shape if source is not None and len(source.shape) == len(spec.shape) else (1,) * len(spec.shape)
    if source is not None and source.shape and spec.shape and len(like) == len(spec.shape) and spec.shape[0] == -1:
        like = (source.shape[0], *like[1:])
    return tuple(own if own >= 0 else given for own, given in zip(spec.shape, like))


def filled(shape, count):
    """The shape with its only variable dimension such that it has count elements."""
    rest = math.prod(dimension for dimension in shape if dimension >= 0)
    return tuple(dimension if dimension >= 0 else count // rest for dimension in shape)


def read(path):
    """The models of a JSON file: one model's metadata, or an array of them."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from None
    return [model_of(one, str(path)) for one in (found if isinstance(found, list) else [found])]


def model_of(metadata, where="metadata"):
    """A model from its metadata, with the key "double" for what metadata do not say."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ModelError(f"{where}: model is {metadata!r:.80}, expected an object with 'name'")
    where = f"{where}: model '{metadata['name']}'"
    versions = metadata.get("versions") or ["1"]
    if not isinstance(versions, list) or not all(isinstance(version, str) and version for version in versions):
        raise ModelError(f"{where}: versions is {versions!r:.80}, expected an array of texts")
    inputs, outputs = (tuple(_spec(one, f"{where}: {kind}") for one in _array(metadata, kind, where)) for kind in ("inputs", "outputs"))
    own = metadata.get("double") or {}
    known = ("answers", "values", "returns_parameters", "fault")
    if not isinstance(own, dict) or set(own) - set(known):
        raise ModelError(f"{where}: double is {own!r:.120}, expected an object with some of {', '.join(known)}")
    try:
        fault = Fault.of(own["fault"]) if "fault" in own else NONE
    except FaultError as error:
        raise ModelError(f"{where}: {error}") from None
    values = _values(own.get("values", {}), outputs, where)
    answers = own.get("answers", "values" if values else "echo")
    if answers not in ANSWERS:
        raise ModelError(f"{where}: answers is {answers!r}, expected one of {', '.join(ANSWERS)}")
    _fit(answers, inputs, outputs, versions, where)
    return Model(metadata["name"], tuple(versions), str(metadata.get("platform", "double")), inputs, outputs, answers, values,
                 bool(own.get("returns_parameters")), fault)


def _fit(answers, inputs, outputs, versions, where):
    """Refuses tensors from which the answers cannot be made."""
    numeric = [spec for spec in (*inputs, *outputs) if spec.datatype not in ("BYTES", "BOOL")]
    if answers == "sums" and not (len(inputs) == len(outputs) == 2 and len(numeric) == 4):
        raise ModelError(f"{where}: answers is 'sums', expected two inputs and two outputs of numbers")
    if answers in ("sleep", "version", "repeat") and not inputs:
        raise ModelError(f"{where}: answers is '{answers}', expected an input")
    if answers in ("sleep", "version") and inputs[0] not in numeric:
        raise ModelError(f"{where}: answers is '{answers}', expected numbers as first input, got {inputs[0].datatype}")
    if answers == "version" and not all(version.isdigit() for version in versions):
        raise ModelError(f"{where}: answers is 'version', expected versions that are numbers, got {versions}")


def _array(metadata, kind, where):
    found = metadata.get(kind)
    if found is None:
        return []
    if not isinstance(found, list):
        raise ModelError(f"{where}: {kind} is {found!r:.80}, expected an array")
    return found


def _spec(one, where):
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise ModelError(f"{where}: tensor is {one!r:.80}, expected an object with 'name'")
    if one.get("datatype") not in DATATYPES:
        raise ModelError(f"{where}: datatype of '{one['name']}' is {one.get('datatype')!r}, expected one of {', '.join(DATATYPES)}")
    shape = one.get("shape")
    if not isinstance(shape, list) or not all(type(dimension) is int and dimension >= -1 for dimension in shape):
        raise ModelError(f"{where}: shape of '{one['name']}' is {shape!r:.80}, expected an array of integers from -1")
    if math.prod(max(1, dimension) for dimension in shape) > 1 << 24:
        raise ModelError(f"{where}: shape of '{one['name']}' is {shape!r:.80}, expected at most {1 << 24} elements")
    return Spec(one["name"], one["datatype"], tuple(shape))


def _values(values, outputs, where):
    """Fixed values of outputs, as {name: (raw bytes, number of elements)}."""
    if not isinstance(values, dict):
        raise ModelError(f"{where}: values is {values!r:.80}, expected an object")
    specs, found = {spec.name: spec for spec in outputs}, {}
    for name, given in values.items():
        if name not in specs:
            raise ModelError(f"{where}: values has '{name}', expected some of the outputs {list(specs)}")
        spec = specs[name]
        try:
            raw = given_values(spec.datatype, given)
        except (AssertionError, ValueError, TypeError, OverflowError) as error:
            raise ModelError(f"{where}: values of '{name}': {error}") from None
        if sum(dimension < 0 for dimension in spec.shape) > 1 or math.prod(filled(spec.shape, len(given))) != len(given):
            raise ModelError(f"{where}: values of '{name}' are {len(given)}, which shape {list(spec.shape)} cannot have")
        found[name] = (raw, len(given))
    return found


def given_values(datatype, given):
    """The raw bytes of values in a model file: a flat array."""
    if not isinstance(given, list):
        raise ValueError(f"{given!r:.80}, expected an array")
    if datatype in ("FP16", "BF16", "FP32", "FP64"):
        return pack(datatype, [float(value) for value in given])
    if datatype == "BYTES":
        return from_json(datatype, given)
    return pack(datatype, given)
