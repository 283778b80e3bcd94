"""Inference with the official clients, over both protocols, with every kind of upstream."""
import json

import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as tg
import tritonclient.http as th
from inputs import TYPES, check_simple, grpc_inputs, http_inputs, same, simple_pairs
from oip_conformance.client import grpc_result
from tritonclient.utils import InferenceServerException


@pytest.mark.parametrize("binary_in", [False, True])
@pytest.mark.parametrize("binary_out", [False, True])
def test_simple_over_http(clients, binary_in, binary_out):
    http, _ = clients
    outputs = [th.InferRequestedOutput(name, binary_data=binary_out) for name in ("OUTPUT0", "OUTPUT1")]
    result = http.infer("simple", http_inputs(simple_pairs(), binary_in), outputs=outputs, request_id="id-1")
    check_simple(result)
    assert result.get_response()["id"] == "id-1"
    assert ("data" in result.get_output("OUTPUT0")) != binary_out


def test_simple_over_http_default_outputs(clients):
    check_simple(clients[0].infer("simple", http_inputs(simple_pairs(), True)))


def test_simple_over_http_mixed_outputs(clients):
    outputs = [th.InferRequestedOutput("OUTPUT1", binary_data=True), th.InferRequestedOutput("OUTPUT0", binary_data=False)]
    check_simple(clients[0].infer("simple", http_inputs(simple_pairs(), True), outputs=outputs))


def test_simple_over_grpc(clients):
    result = clients[1].infer("simple", grpc_inputs(simple_pairs()), request_id="\u00e9-2")
    check_simple(result)
    assert result.get_response().id == "\u00e9-2"


def test_simple_over_grpc_async(clients):
    import queue

    results = queue.Queue()
    for _ in range(20):
        clients[1].async_infer("simple", grpc_inputs(simple_pairs()), lambda result, error: results.put((result, error)))
    for _ in range(20):
        result, error = results.get(timeout=30)
        assert error is None
        check_simple(result)


def test_simple_typed_contents_over_grpc(clients):
    request = tg.service_pb2.ModelInferRequest(model_name="simple", id="t")
    for name, value in (("INPUT0", 5), ("INPUT1", 3)):
        tensor = request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
        tensor.contents.int_contents.extend([value] * 16)
    response = clients[1]._client_stub.ModelInfer(request)
    # Triton returns raw contents, others use the form of the request.
    assert grpc_result(response)["OUTPUT0"].raw == np.full((1, 16), 8, np.int32).tobytes()


def test_one_output_only(clients):
    http, grpc = clients
    result = http.infer("simple", http_inputs(simple_pairs(), True), outputs=[th.InferRequestedOutput("OUTPUT1")])
    assert [o["name"] for o in result.get_response()["outputs"]] == ["OUTPUT1"]
    result = grpc.infer("simple", grpc_inputs(simple_pairs()), outputs=[tg.InferRequestedOutput("OUTPUT1")])
    assert [o.name for o in result.get_response().outputs] == ["OUTPUT1"]


@pytest.mark.parametrize("datatype", list(TYPES))
def test_every_datatype(fleet_clients, datatype):
    http, grpc = fleet_clients
    model, pairs = "identity_" + datatype.lower(), [("INPUT0", datatype, TYPES[datatype])]
    same(grpc.infer(model, grpc_inputs(pairs)).as_numpy("OUTPUT0"), TYPES[datatype])
    for binary in (True, False):
        if datatype == "FP16" and not binary:
            continue  # the client itself refuses: see test_half_floats_as_json
        out = [th.InferRequestedOutput("OUTPUT0", binary_data=binary)]
        same(http.infer(model, http_inputs(pairs, binary), outputs=out).as_numpy("OUTPUT0"), TYPES[datatype])


def test_bf16(fleet_clients):
    array = np.array([[0.1, -0.0, 3e38]], np.float32)
    bits = array.astype(ml_dtypes.bfloat16)
    tensor = tg.InferInput("INPUT0", [1, 3], "BF16")
    tensor._raw_content = bits.tobytes()
    response = fleet_clients[1].infer("identity_bf16", [tensor]).get_response()
    assert response.raw_output_contents[0] == bits.tobytes()


@pytest.mark.parametrize("datatype, text", [("FP16", "0.1,-0.0,65500.0"), ("BF16", "0.1,-0.0,3.0E38")])
def test_half_floats_as_json(fleet_rest, datatype, text):
    """Triton does not accept them in JSON: over REST it gets them as binary data."""
    body = '{"inputs":[{"name":"INPUT0","shape":[1,3],"datatype":"%s","data":[%s]}]}' % (datatype, text)
    status, _, answer = fleet_rest.ask("POST", "/v2/models/identity_%s/infer" % datatype.lower(), body)
    assert status == 200, answer
    assert ('"data":[%s]' % text).encode() in answer


def test_special_values(fleet_clients, fleet_rest):
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 0.1], np.float32)
    pairs = [("INPUT0", "INT32", np.array([1], np.int32))]
    got = fleet_clients[1].infer("special_fp32", grpc_inputs(pairs)).as_numpy("OUTPUT0")
    assert got.tobytes()[4:] == special.tobytes()[4:] and np.isnan(got[0])
    body = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]}
    status, _, text = fleet_rest.ask("POST", "/v2/models/special_fp32/infer", body)
    data = json.loads(text)["outputs"][0]["data"]
    assert status == 200 and np.isnan(data[0])
    assert np.array(data, np.float32).tobytes()[4:] == special.tobytes()[4:]


def test_versions(fleet_clients):
    http, grpc = fleet_clients
    one = np.array([1], np.int32)
    for version, want in (("1", 2), ("3", 4), ("", 4)):
        pairs = [("INPUT0", "INT32", one)]
        assert grpc.infer("versioned", grpc_inputs(pairs), model_version=version).as_numpy("OUTPUT0")[0] == want
        assert http.infer("versioned", http_inputs(pairs, True), model_version=version).as_numpy("OUTPUT0")[0] == want


@pytest.mark.parametrize("rows", [20, 200, 2000])
@pytest.mark.parametrize("model, output", [("identity_fp32", "OUTPUT0"), ("identity", "INPUT0"), ("numpy", "output-0")])
def test_large_tensor(fleet_clients, model, output, rows):
    if rows == 2000 and model != "identity_fp32":
        rows = 900  # MLServer and KServe accept messages of up to 4 MiB over gRPC
    http, grpc = fleet_clients
    array = np.random.default_rng(1).random((rows, 1024), np.float32)
    pairs = [("INPUT0", "FP32", array)]
    same(grpc.infer(model, grpc_inputs(pairs)).as_numpy(output), array)
    same(http.infer(model, http_inputs(pairs, True)).as_numpy(output), array)


def test_large_tensor_as_json(fleet_clients):
    array = np.random.default_rng(1).random((64, 2048), np.float32)
    pairs = [("INPUT0", "FP32", array)]
    out = [th.InferRequestedOutput("OUTPUT0", binary_data=False)]
    same(fleet_clients[0].infer("identity_fp32", http_inputs(pairs, False), outputs=out).as_numpy("OUTPUT0"), array)


def test_mlserver(fleet_clients):
    http, grpc = fleet_clients
    flowers = np.array([[5.1, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]], np.float32)
    for got in (http.infer("iris", http_inputs([("predict", "FP32", flowers)], False),
                           outputs=[th.InferRequestedOutput("predict", binary_data=False)]),
                http.infer("iris", http_inputs([("predict", "FP32", flowers)], True)),
                grpc.infer("iris", grpc_inputs([("predict", "FP32", flowers)]))):
        assert list(got.as_numpy("predict").flatten()) == [0, 2]


def test_model_failure_keeps_status_and_text(fleet_clients):
    pairs = [("INPUT0", "BYTES", np.array([b"UNAVAILABLE"], np.object_))]
    with pytest.raises(InferenceServerException, match="model says: UNAVAILABLE") as http:
        fleet_clients[0].infer("fail", http_inputs(pairs, True))
    assert http.value.status() == "503"
    with pytest.raises(InferenceServerException, match="model says: UNAVAILABLE") as grpc:
        fleet_clients[1].infer("fail", grpc_inputs(pairs))
    assert grpc.value.status() == "StatusCode.UNAVAILABLE"


def test_deadline(fleet_clients):
    pairs = [("INPUT0", "INT32", np.array([3000], np.int32))]
    with pytest.raises(InferenceServerException) as grpc:
        fleet_clients[1].infer("slow", grpc_inputs(pairs), client_timeout=0.3)
    assert grpc.value.status() == "StatusCode.DEADLINE_EXCEEDED"
