"""The models of an endpoint that has none of the suite's fleets: found by name or in its index, and judged by metadata and answers."""
from .cases import Endpoint
from .cases_models import inputs_of, metadata_of
from .client import NotApplicable, pb
from .models import Echo, Models, tensor
from .tensors import DTYPES, SAMPLES


class NoModels(Exception):
    """The endpoint does not say which models it has."""


def names_of(t: Endpoint):
    """The models that the endpoint lists: Triton's and MLServer's index, or KServe's list."""
    for ask in (_index, _list):
        try:
            found = ask(t)
        except (AssertionError, NotApplicable, KeyError, TypeError, AttributeError):
            continue
        if found:
            return found
    raise NoModels("the endpoint lists no models (POST /v2/repository/index, GET /v2/models): name them with --model NAME")


def _index(t):
    if not t.rest_address:
        return sorted({model.name for model in t.grpc.call("RepositoryIndex", pb.RepositoryIndexRequest(ready=True)).models})
    found = t.rest.post("/v2/repository/index", b"{}").ok().json()
    return sorted({entry["name"] for entry in found if entry.get("state", "READY") == "READY"})


def _list(t):
    found = t.rest.get("/v2/models").ok().json()["models"]
    return sorted(entry if isinstance(entry, str) else entry["name"] for entry in found)


def discover(t: Endpoint, names):
    """The models with these names, or all that the endpoint lists."""
    names = list(names) or names_of(t)
    generic, echoes = [], {}
    for name in names:
        if not t.rest_address:
            continue
        try:
            metadata = metadata_of(t, name)
            if not metadata.get("inputs"):
                continue
            if not refuses(t, name, metadata):
                generic.append(name)
            echo = echo_of(t, name, metadata)
        except (AssertionError, NotApplicable, KeyError, TypeError, ValueError, AttributeError):
            continue
        if echo and (echo.datatype not in echoes or echoes[echo.datatype].width):
            echoes[echo.datatype] = echo
    declared = next(((name, inputs) for name in generic if (inputs := fixed_inputs(metadata_of(t, name)))), None)
    return Models("discovered", echoes, known=tuple(names), generic=tuple(generic), metadata=declared)


def refuses(t, name, metadata):
    """Whether the model refuses zeros: it takes not any values, or none in single calls."""
    answer = t.rest.post(f"/v2/models/{name}/infer", {"inputs": [
        {"name": one.name, "shape": list(one.shape), "datatype": one.datatype,
         "data": [value.decode() if one.datatype == "BYTES" else value.item() for value in one.elements()]}
        for one in inputs_of(metadata)]})
    return 400 <= answer.status < 600


def echo_of(t, name, metadata):
    """The model as an identity, if it has one input and returns sample values of it."""
    if len(metadata["inputs"]) != 1:
        return None
    declared = metadata["inputs"][0]
    shape, datatype = declared["shape"], declared["datatype"]
    if datatype not in (*DTYPES, "BYTES") or not shape or any(dimension > 1 for dimension in shape[:-1]):
        return None
    for output in metadata["outputs"]:
        if output["datatype"] != datatype:
            continue
        echo = Echo(name, datatype, declared["name"], output["name"], rank=len(shape), width=shape[-1] if shape[-1] > 0 else None)
        values = SAMPLES[datatype][:echo.width]
        found = t.infer("json", name, echo.inputs([value for value in values]))[output["name"]]
        if found.raw == tensor("", datatype, (), [*values, *[0] * (len(found.elements()) - len(values))]).raw:
            return echo
    return None


def fixed_inputs(metadata):
    """The inputs as {name: (datatype, last dimension)}, if all are of shape [batch, n]."""
    shapes = [one["shape"] for one in metadata["inputs"]]
    if not all(len(shape) == 2 and shape[0] in (-1, 1) and shape[1] > 1 for shape in shapes):
        return None
    return {one["name"]: (one["datatype"], one["shape"][1]) for one in metadata["inputs"] if one["datatype"] != "BYTES"} or None
