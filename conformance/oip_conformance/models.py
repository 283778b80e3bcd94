"""The models of an endpoint: those of each server for which the suite has models (fleets), and the gateway's embedded models.

A case asks for the model that it needs; a missing one raises NotApplicable. discovery.py finds the models of other endpoints.
"""
from dataclasses import dataclass, field

from .client import NotApplicable
from .tensors import DTYPES, SAMPLES, Tensor, tensor

ALL = (*DTYPES, "BYTES")


@dataclass(frozen=True)
class Echo:
    """A model whose output equals its input.

    rank   the number of dimensions it takes, None for any
    width  the number of elements it takes, None for any; fewer are filled up with zeros
    zeros  names of further inputs, which must be zero
    """
    model: str
    datatype: str
    input: str = "INPUT0"
    output: str = "INPUT0"
    rank: int | None = None
    width: int | None = None
    zeros: tuple = ()

    @property
    def path(self):
        return f"/v2/models/{self.model}"

    def shape(self, count):
        count = self.width or count
        return (count,) if self.rank in (None, 1) else (1,) * (self.rank - 1) + (count,)

    def inputs(self, values, shape=None):
        """The inputs with these values as one row, or in a given shape."""
        filled = list(values) + [0] * ((self.width or 0) - len(values))
        main = tensor(self.input, self.datatype, shape or self.shape(len(values)), filled)
        return [main] + [tensor(name, self.datatype, main.shape, [0] * len(filled)) for name in self.zeros]

    def sample(self):
        """The inputs with the datatype's four sample values, [2,2] where the model takes it."""
        return self.inputs(SAMPLES[self.datatype], None if self.width else (2, 2))

    def raw(self, raw, count):
        """The inputs with these raw bytes as one row; for models of any width."""
        return [Tensor(self.input, self.datatype, self.shape(count), raw)]

    def body(self, data, shape=None, /, **changes):
        """A JSON request with data as it is given. changes replace fields of the tensor, or drop those that are None."""
        if shape is None:
            shape, data = self.shape(len(data)), data + [0] * ((self.width or 0) - len(data))
        main = {"name": self.input, "shape": list(shape), "datatype": self.datatype, "data": data, **changes}
        zeros = self.width or 0
        others = [{"name": name, "shape": list(self.shape(zeros)), "datatype": self.datatype, "data": [0] * zeros}
                  for name in self.zeros]
        return {"inputs": [{key: value for key, value in main.items() if value is not None}, *others]}

    def head(self, values):
        """The raw bytes of the output's first elements, for as many values."""
        return tensor("", self.datatype, (), values).raw


@dataclass(frozen=True)
class Versioned:
    """A model served in versions; the result of the INT32 input 1 for each, and what no version asks for."""
    model: str
    results: dict
    latest: str
    output: str = "INPUT0"


@dataclass(frozen=True)
class Stream:
    """A model that answers several times: three responses for request(), whose output has these raw values."""
    model: str
    inputs: tuple
    output: str
    values: tuple
    failing: tuple = ()
    unary_refused: bool = False


@dataclass(frozen=True)
class Models:
    """The models of one endpoint, by what they do.

    echoes        by datatype
    sums          the model with INPUT0, INPUT1 INT32 [1,16], OUTPUT0 their sum, OUTPUT1 their difference
    special       answers NaN, Infinity, -Infinity, -0.0, 1e-45, 3.4028235e38, 0.1
    fail, fails   fails as its BYTES input says: text, REST status, gRPC codes, words of the message
    parameters    gives the request's parameters back
    slow          sleeps INPUT0[0] milliseconds
    keeps_bits    its wire keeps the payloads of NaN
    known         models that are ready; the first is asked for its metadata
    generic       models that take any values of their declared inputs, and answer once
    metadata      a model with declared inputs: model name and {input name: (datatype, last dimension)}
    features      extensions that the models are made for
    lacks         what the server cannot say at all, with the reason
    """
    name: str
    echoes: dict
    sums: str | None = None
    special: str | None = None
    fail: str | None = None
    fails: dict = field(default_factory=dict)
    parameters: Echo | None = None
    slow: str | None = None
    keeps_bits: bool = True
    metadata: tuple | None = None
    versioned: Versioned | None = None
    stream: Stream | None = None
    known: tuple = ()
    generic: tuple = ()
    repository: bool = True
    features: tuple = ()
    lacks: dict = field(default_factory=dict)

    def need(self, what):
        """The value of that name, or NotApplicable."""
        value = getattr(self, what)
        if not value:
            raise NotApplicable(f"the models '{self.name}' have no '{what}'")
        return value

    def must(self, feature):
        """NotApplicable when the server lacks the feature."""
        if feature in self.lacks:
            raise NotApplicable(self.lacks[feature])

    def echo(self, datatype=None, free=False, any_rank=False):
        """An identity model of the datatype, or of FP32, or of any; free: it takes any shape of its rank."""
        wanted = [datatype] if datatype else ["FP32", *self.echoes]
        found = next((self.echoes[d] for d in wanted if d in self.echoes), None)
        if found is None:
            raise NotApplicable(f"the models '{self.name}' have no identity model for {datatype or 'any datatype'}")
        if free and found.width:
            raise NotApplicable(f"'{found.model}' takes {found.width} elements only")
        if any_rank and (found.rank or found.width):
            raise NotApplicable(f"'{found.model}' takes no other rank than {found.rank}")
        return found


def bytes_input(name, text):
    return tensor(name, "BYTES", (1,), [text.encode()])


TRITON_FAILS = {
    "INVALID_ARG": (400, "INVALID_ARGUMENT"), "NOT_FOUND": (404, "NOT_FOUND"), "UNAVAILABLE": (503, "UNAVAILABLE"),
    "INTERNAL": (500, "INTERNAL"), "UNSUPPORTED": (501, "UNIMPLEMENTED"), "ALREADY_EXISTS": (409, "ALREADY_EXISTS"),
    "CANCELLED": (499, "CANCELLED"), "other": (500, "UNKNOWN"), "raise": (500, "INTERNAL")}

TRITON = Models(
    "triton", {d: Echo("identity_" + d.lower(), d, output="OUTPUT0", rank=2) for d in ALL},
    sums="simple", special="special_fp32", fail="fail",
    fails={kind: (*answer, "model says" if kind != "raise" else "raised by the model") for kind, answer in TRITON_FAILS.items()},
    parameters=Echo("params_echo", "INT32", output="OUTPUT0", rank=1), slow="slow",
    metadata=("simple", {"INPUT0": ("INT32", 16), "INPUT1": ("INT32", 16)}),
    versioned=Versioned("versioned", {"1": 2, "3": 4}, "3", "OUTPUT0"),
    stream=Stream("repeat_int32", (tensor("IN", "INT32", (3,), [4, 5, 6]), tensor("DELAY", "UINT32", (3,), [0, 0, 0]),
                                   tensor("WAIT", "UINT32", (1,), [0])), "OUT",
                  tuple(tensor("OUT", "INT32", (1,), [v]).raw for v in (4, 5, 6)), unary_refused=True),
    known=("simple", "identity_fp32", "repeat_int32", "fail"), generic=("simple",),
    features=("generate",), lacks={"uint64_param": "Triton takes no uint64_param"})

MLSERVER = Models(
    "mlserver", {d: Echo("identity", d) for d in ALL if d != "BF16"}, special="special", fail="fail",
    fails={"inference": (400, "INVALID_ARGUMENT", "inference error text"), "raise": (500, "INTERNAL", "")},
    parameters=Echo("identity", "INT32"), slow="slow", keeps_bits=False,
    metadata=("iris", {"predict": ("FP32", 4)}), versioned=Versioned("versioned", {"v1": 1, "v2": 1}, "v2"),
    stream=Stream("stream", (bytes_input("INPUT0", "a b c"),), "output",
                  tuple(bytes_input("output", word).raw for word in "abc")),
    known=("identity", "iris"), generic=("iris",), lacks={"versions": "MLServer's metadata has no versions but those of the settings"})

KSERVE = Models(
    "kserve", {d: Echo("identity", d) for d in ALL if d != "BF16"}, special="special", fail="fail",
    fails={"invalid": (400, "INVALID_ARGUMENT", "invalid input text"), "raise": (500, "INTERNAL", "")},
    parameters=Echo("identity", "INT32"), slow="slow", known=("identity", "special"), repository=False)

AISSEMBLE = Models(
    "aissemble", {d: Echo("identity", d) for d in ALL if d != "BF16"}, parameters=Echo("identity", "INT32"), known=("identity",),
    repository=False)

OMLE = Models(
    "omle", {d: Echo("identity_" + d.lower(), d, output="OUTPUT0", rank=2) for d in ALL if d != "BF16"}, sums="simple",
    metadata=("simple", {"INPUT0": ("INT32", 16), "INPUT1": ("INT32", 16)}), known=("simple", "identity_fp32"), generic=("simple",),
    repository=False)

# Dynamo has no FP16 and no BF16.
DYNAMO = Models(
    "dynamo", {d: Echo("identity_" + d.lower(), d, output="OUTPUT0", rank=2) for d in ALL if d not in ("FP16", "BF16")},
    parameters=Echo("identity_int32", "INT32", output="OUTPUT0", rank=2), known=("identity_fp32", "identity_int32"), repository=False)

ONNX = Models(
    "onnx", {"INT32": Echo("simple", "INT32", output="OUTPUT0", rank=2, width=16, zeros=("INPUT1",))}, sums="simple",
    metadata=("simple", {"INPUT0": ("INT32", 16), "INPUT1": ("INT32", 16)}),
    known=("simple", "digits"), generic=("simple", "digits"))

DOUBLE = Models(
    "double", {d: Echo("identity_" + d.lower(), d, output="OUTPUT0", rank=2) for d in ALL}, sums="simple", special="special_fp32",
    parameters=Echo("params_echo", "INT32", output="OUTPUT0", rank=1), slow="slow",
    metadata=("simple", {"INPUT0": ("INT32", 16), "INPUT1": ("INT32", 16)}),
    versioned=Versioned("versioned", {"1": 2, "3": 4}, "3", "OUTPUT0"),
    stream=Stream("repeat_int32", (tensor("IN", "INT32", (3,), [4, 5, 6]),), "OUT",
                  tuple(tensor("OUT", "INT32", (1,), [v]).raw for v in (4, 5, 6)), unary_refused=True),
    known=("simple", "identity_fp32", "repeat_int32"), generic=("simple",))

FLEETS = {models.name: models for models in (TRITON, MLSERVER, KSERVE, AISSEMBLE, OMLE, DYNAMO, ONNX, DOUBLE)}
