"""Real models in the local backend, called by the official clients and compared bit by bit with ONNX Runtime in Python.

ISTHMUS_LOCAL      host:port of a gateway with those models (RealModelsTest has them)
ISTHMUS_REFERENCE  folder with what reference.py wrote
"""
import os
import pathlib

import numpy as np
import pytest
import tritonclient.grpc as tg
import tritonclient.http as th
from tritonclient.utils import np_to_triton_dtype

REFERENCE = pathlib.Path(os.environ["ISTHMUS_REFERENCE"])
# Larger outputs are requested in binary only: the client is slow to parse them in JSON.
MOST_AS_JSON = 100_000


def requests(file):
    """(inputs, outputs) of each request in a file, by name."""
    arrays = np.load(file)
    found = {}
    for key in arrays.files:
        way, number, name = key.split(".", 2)
        found.setdefault(int(number), {"in": {}, "out": {}})[way][name] = arrays[key]
    return [(found[number]["in"], found[number]["out"]) for number in sorted(found)]


CASES = [
    pytest.param(file.stem, inputs, outputs, id=f"{file.stem}-{number}")
    for file in sorted(REFERENCE.glob("*.npz"))
    for number, (inputs, outputs) in enumerate(requests(file))
]
SMALL = [case for case in CASES if sum(map(np.size, [*case.values[1].values(), *case.values[2].values()])) < MOST_AS_JSON]


@pytest.fixture(scope="module")
def http():
    with th.InferenceServerClient(os.environ["ISTHMUS_LOCAL"]) as client:
        yield client


@pytest.fixture(scope="module")
def grpc():
    with tg.InferenceServerClient(os.environ["ISTHMUS_LOCAL"]) as client:
        yield client


def asked(module, inputs, **how):
    tensors = []
    for name, array in inputs.items():
        tensor = module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensor.set_data_from_numpy(array, **how)
        tensors.append(tensor)
    return tensors


def check(result, outputs):
    for name, want in outputs.items():
        got = result.as_numpy(name)
        assert got.dtype == want.dtype and got.shape == want.shape, name
        assert got.tobytes() == want.tobytes(), f"{name}: {np.sum(got != want)} of {want.size} differ: {got} {want}"


@pytest.mark.parametrize("model,inputs,outputs", CASES)
def test_binary_over_http(http, model, inputs, outputs):
    check(http.infer(model, asked(th, inputs, binary_data=True)), outputs)


@pytest.mark.parametrize("model,inputs,outputs", SMALL)
def test_json_over_http(http, model, inputs, outputs):
    wanted = [th.InferRequestedOutput(name, binary_data=False) for name in outputs]
    check(http.infer(model, asked(th, inputs, binary_data=False), outputs=wanted), outputs)


@pytest.mark.parametrize("model,inputs,outputs", CASES)
def test_grpc(grpc, model, inputs, outputs):
    check(grpc.infer(model, asked(tg, inputs)), outputs)


@pytest.mark.parametrize("model,names,shapes,outputs", [
    ("magika", {"bytes": "INT32"}, {"bytes": [-1, 2048]}, {"target_label": "FP32"}),
    ("silero_vad", {"input": "FP32", "state": "FP32", "sr": "INT64"},
     {"input": [-1, -1], "state": [2, -1, 128], "sr": []}, {"output": "FP32", "stateN": "FP32"}),
])
def test_metadata(http, grpc, model, names, shapes, outputs):
    over_http, over_grpc = http.get_model_metadata(model), grpc.get_model_metadata(model)
    assert {i["name"]: i["datatype"] for i in over_http["inputs"]} == names
    assert {i["name"]: i["shape"] for i in over_http["inputs"]} == shapes
    assert {o["name"]: o["datatype"] for o in over_http["outputs"]} == outputs
    assert {i.name: list(i.shape) for i in over_grpc.inputs} == shapes


def test_silero_carries_its_state_through_both_protocols(http, grpc):
    state = np.zeros((2, 1, 128), np.float32)
    for number, (inputs, outputs) in enumerate(requests(REFERENCE / "silero_vad.npz")[:5]):
        module, client = [(th, http), (tg, grpc)][number % 2]
        result = client.infer("silero_vad", asked(module, {**inputs, "state": state}))
        state = result.as_numpy("stateN")
        check(result, outputs)
