"""Inputs and outputs in system shared memory, registered through the gateway, for each client and each wire to Triton."""
import os
import uuid

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
import tritonclient.utils.shared_memory as shm
from conftest import Rest

MODULES = {"rest": tritonclient.http, "grpc": tritonclient.grpc}
GATEWAYS = {"rest": os.environ["ISTHMUS_SHARED_REST"], "grpc": os.environ["ISTHMUS_SHARED_GRPC"]}
SIZE = 64
LEFT, RIGHT = np.arange(16, dtype=np.int32), np.full(16, 3, np.int32)
WANTED = {"OUTPUT0": LEFT + RIGHT, "OUTPUT1": LEFT - RIGHT}


@pytest.fixture(params=MODULES)
def module(request):
    return MODULES[request.param]


@pytest.fixture(params=GATEWAYS)
def client(request, module):
    made = module.InferenceServerClient(GATEWAYS[request.param])
    yield made
    made.close()


@pytest.fixture
def region(client):
    """A registered region, by name and handle, that contains both inputs and has space for both outputs."""
    name = "isthmus_" + uuid.uuid4().hex[:12]
    handle = shm.create_shared_memory_region(name, "/" + name, 4 * SIZE)
    try:
        shm.set_shared_memory_region(handle, [LEFT, RIGHT])
        client.register_system_shared_memory(name, "/" + name, 4 * SIZE)
        yield name, handle
        client.unregister_system_shared_memory(name)
    finally:
        shm.destroy_shared_memory_region(handle)


def inputs(module, name):
    made = []
    for i, values in enumerate((LEFT, RIGHT)):
        tensor = module.InferInput(f"INPUT{i}", [1, 16], "INT32")
        if name:
            tensor.set_shared_memory(name, SIZE, offset=i * SIZE)
        else:
            tensor.set_data_from_numpy(values.reshape(1, 16))
        made.append(tensor)
    return made


@pytest.mark.parametrize("shared_inputs", [True, False])
@pytest.mark.parametrize("shared_outputs", [("OUTPUT0", "OUTPUT1"), ("OUTPUT0",), ("OUTPUT1",), ()])
def test_both_ways(module, client, region, shared_inputs, shared_outputs):
    name, handle = region
    outputs = [module.InferRequestedOutput(output) for output in WANTED]
    for i, (output, requested) in enumerate(zip(WANTED, outputs)):
        if output in shared_outputs:
            requested.set_shared_memory(name, SIZE, offset=(2 + i) * SIZE)
    result = client.infer("simple", inputs(module, name if shared_inputs else None), outputs=outputs, request_id="7")
    for i, (output, values) in enumerate(WANTED.items()):
        described = result.get_output(output)
        shape = described["shape"] if isinstance(described, dict) else list(described.shape)
        assert shape == [1, 16]
        if output in shared_outputs:
            got = shm.get_contents_as_numpy(handle, np.int32, [16], offset=(2 + i) * SIZE)
        else:
            got = result.as_numpy(output).reshape(16)
        assert got.tolist() == values.tolist()


@pytest.mark.parametrize("wire", GATEWAYS)
@pytest.mark.parametrize("binary", [True, False])
def test_answer_is_tritons(wire, binary):
    """An output in shared memory has no parameters in responses; Triton's C++ client would require a binary_data_size."""
    name = "isthmus_" + uuid.uuid4().hex[:12]
    handle = shm.create_shared_memory_region(name, "/" + name, SIZE)
    triton = tritonclient.http.InferenceServerClient(os.environ["TRITON_REST"])
    place = {"shared_memory_region": name, "shared_memory_byte_size": SIZE}
    body = {"inputs": [{"name": f"INPUT{i}", "datatype": "INT32", "shape": [1, 16], "data": [i] * 16} for i in range(2)],
            "outputs": [{"name": "OUTPUT0", "parameters": place}, {"name": "OUTPUT1", "parameters": {"binary_data": binary}}]}
    try:
        triton.register_system_shared_memory(name, "/" + name, SIZE)
        answers = []
        for address in (os.environ["TRITON_REST"], GATEWAYS[wire]):
            rest = Rest(address)
            status, _, answer = rest.ask("POST", "/v2/models/simple/infer", body, {"Content-Type": "application/json"})
            assert status == 200, answer
            answers.append(answer)
            rest.connection.close()
        triton.unregister_system_shared_memory(name)
    finally:
        triton.close()
        shm.destroy_shared_memory_region(handle)
    assert answers[1] == answers[0]


def test_status(module, client, region):
    name, _ = region
    if module is tritonclient.http:
        [found] = client.get_system_shared_memory_status(name)
        assert (found["name"], found["byte_size"]) == (name, 4 * SIZE)
    else:
        found = client.get_system_shared_memory_status(name).regions[name]
        assert (found.name, found.byte_size) == (name, 4 * SIZE)
