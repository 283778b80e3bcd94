"""Requests that must be refused with the same status for every upstream, with input, value and expectation in the message."""
import json

import pytest
import tritonclient.grpc as tg
from tritonclient.utils import InferenceServerException

PATH = "/v2/models/simple/infer"
ONES = [1] * 16


def body(**changes):
    tensor = {"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "data": ONES}
    other = dict(tensor, name="INPUT1")
    tensor.update(changes)
    return {"inputs": [{k: v for k, v in tensor.items() if v is not None}, other]}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"inputs":[]}', '{"inputs":[{}]}', '{"inputs":1}', "{'a':1}", '{"a":01}'])
def test_json(rest, text):
    rest.refused(400, "POST", PATH, text)


@pytest.mark.parametrize("changes, words", [
    ({"shape": [1, 15]}, ["INPUT0", "[1,15]", "15"]),
    ({"shape": [1, -16]}, ["INPUT0", "[1,-16]"]),
    ({"shape": [2**32, 2**32]}, ["INPUT0", "[4294967296,4294967296]"]),
    ({"data": [1] * 15}, ["INPUT0", "16", "15"]),
    ({"data": [2**31] + [1] * 15}, ["INPUT0", "INT32", "2147483648"]),
    ({"data": [1.5] + [1] * 15}, ["INPUT0", "INT32", "1.5"]),
    ({"data": ["1"] * 16}, ["INPUT0", "INT32"]),
    ({"data": [[1, 2], [3]]}, ["INPUT0", "nested"]),
    ({"data": None}, ["INPUT0", "data"]),
    ({"datatype": "FP99"}, ["INPUT0", "FP99"]),
    ({"datatype": None}, ["INPUT0", "datatype"]),
    ({"shape": None}, ["INPUT0", "shape"]),
    ({"parameters": {"binary_data_size": 64}}, ["INPUT0", "binary_data_size"]),
    ({"parameters": {"p": [1]}}, ["INPUT0", "'p'"]),
])
def test_tensor(rest, changes, words):
    message = rest.refused(400, "POST", PATH, body(**changes))
    for word in words:
        assert word in message


def test_what_the_model_does_not_take(rest):
    for changes in ({"name": "NOPE"}, {"datatype": "FP32"}, {"shape": [16]}):
        rest.refused(400, "POST", PATH, body(**changes))
    rest.refused(400, "POST", PATH, dict(body(), outputs=[{"name": "NOPE"}]))


def binary(size, announced, header=None):
    tensors = [{"name": n, "shape": [1, 16], "datatype": "INT32", "parameters": {"binary_data_size": announced}}
               for n in ("INPUT0", "INPUT1")]
    head = json.dumps({"inputs": tensors}).encode()
    return head + bytes(size), {"Inference-Header-Content-Length": str(len(head) if header is None else header)}


@pytest.mark.parametrize("size, announced, header", [
    (127, 64, None), (129, 64, None), (126, 63, None), (0, 64, None), (128, 64, 99999), (128, 64, 10), (128, 64, "x"),
    (128, 64, -1), (128, -1, None), (128, 2**62, None),
])
def test_binary(rest, size, announced, header):
    rest.refused(400, "POST", PATH, *binary(size, announced, header))


def test_unknown_model_and_version(clients, rest):
    assert "nope" in rest.refused(404, "POST", "/v2/models/nope/infer", body())
    rest.refused(404, "POST", "/v2/models/simple/versions/77/infer", body())
    for name, version in (("nope", ""), ("simple", "77")):
        with pytest.raises(InferenceServerException) as failure:
            clients[1].infer(name, [tg.InferInput("INPUT0", [1, 16], "INT32")], model_version=version)
        assert failure.value.status() in ("StatusCode.NOT_FOUND", "StatusCode.INVALID_ARGUMENT")


def test_oversize(rest):
    # The gateways under test accept 16 MiB.
    message = rest.refused(413, "POST", PATH, b" " * ((16 << 20) + 1))
    assert str(16 << 20) in message


def test_grpc(clients):
    stub = clients[1]._client_stub
    request = tg.service_pb2.ModelInferRequest(model_name="simple")
    for name in ("INPUT0", "INPUT1"):
        request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
        request.raw_input_contents.append(bytes(60))
    with pytest.raises(Exception) as failure:
        stub.ModelInfer(request)
    assert failure.value.code().name == "INVALID_ARGUMENT"
    assert clients[1].is_server_live()


def test_grpc_oversize(clients):
    request = tg.service_pb2.ModelInferRequest(model_name="simple")
    request.raw_input_contents.append(bytes((16 << 20) + 1))
    with pytest.raises(Exception) as failure:
        clients[1]._client_stub.ModelInfer(request)
    assert failure.value.code().name == "RESOURCE_EXHAUSTED"
    assert clients[1].is_server_live()


def test_grpc_unknown_method(clients):
    with pytest.raises(Exception) as failure:
        clients[1]._channel.unary_unary("/inference.GRPCInferenceService/ModelDream")(b"")
    assert failure.value.code().name == "UNIMPLEMENTED"
    assert clients[1].is_server_live()
