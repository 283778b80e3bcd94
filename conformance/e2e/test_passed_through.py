"""Features forwarded to the server unchanged: generate, classification, sequences, sequence ids, versions, parameters."""
import json

import numpy as np
import pytest
import tritonclient.grpc as tg
import tritonclient.http as th
from conftest import GATEWAYS, Rest
from inputs import grpc_inputs, http_inputs, simple_pairs

WORDS = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "BYTES", "data": ["a b c"]}]}


@pytest.fixture
def over_rest():
    rest = Rest(GATEWAYS["rest"])
    yield rest
    rest.connection.close()


def test_ensemble(fleet_clients):
    """Triton repeats the parameters of the sequence for each output over REST; over gRPC, the last one counts."""
    http, grpc = fleet_clients
    for result in (http.infer("ensemble", http_inputs(simple_pairs(), True), parameters={"own": "x"}),
                   http.infer("ensemble", http_inputs(simple_pairs(), False), request_id="1"),
                   grpc.infer("ensemble", grpc_inputs(simple_pairs()), sequence_id=5, sequence_start=True)):
        left, right = (values for _, _, values in simple_pairs())
        assert result.as_numpy("OUTPUT0").tolist() == (left + left).tolist()
        assert result.as_numpy("OUTPUT1").tolist() == (right + right).tolist()


def test_generate_of_triton(over_rest):
    assert over_rest.infer("/v2/models/identity_bytes/generate", {"INPUT0": "x"})["OUTPUT0"] == "x"
    over_rest.refused(404, "POST", "/v2/models/nope/generate", {"INPUT0": "x"})


def test_generate_stream_of_triton(over_rest):
    events = over_rest.events("/v2/models/repeat_int32/generate_stream", {"IN": [4, 5], "DELAY": [0, 0], "WAIT": 0})
    assert [event["OUT"] for event in events] == [4, 5]


def test_generate_of_mlserver(over_rest):
    data = over_rest.infer("/v2/models/stream/generate", WORDS)["outputs"][0]["data"]
    assert data == ["a b c"]
    events = over_rest.events("/v2/models/stream/generate_stream", WORDS)
    assert [event["outputs"][0]["data"] for event in events] == [["a"], ["b"], ["c"]]


def test_generate_needs_a_rest_upstream():
    rest = Rest(GATEWAYS["grpc"])
    assert "generate" in rest.refused(501, "POST", "/v2/models/identity_bytes/generate", {"INPUT0": "x"}).lower()
    rest.connection.close()


def test_classification(fleet_clients):
    http, grpc = fleet_clients
    wanted = th.InferRequestedOutput("OUTPUT0", class_count=2), tg.InferRequestedOutput("OUTPUT0", class_count=2)
    for got in (http.infer("simple", http_inputs(simple_pairs(), True), outputs=wanted[:1]),
                grpc.infer("simple", grpc_inputs(simple_pairs()), outputs=wanted[1:])):
        classes = [c.decode() if isinstance(c, bytes) else c for c in got.as_numpy("OUTPUT0").flatten()]
        assert [(float(value), int(index)) for value, index in (c.split(":")[:2] for c in classes)] == [(16, 15), (15, 14)]


def test_classification_as_json(fleet_rest):
    body = {"inputs": [{"name": "INPUT0", "shape": [1, 3], "datatype": "FP32", "data": [1, 3, 2]}],
            "outputs": [{"name": "OUTPUT0", "parameters": {"classification": 2}}]}
    output = fleet_rest.infer("/v2/models/identity_fp32/infer", body)["outputs"][0]
    assert (output["datatype"], output["shape"], output["data"]) == ("BYTES", [2], ["3.000000:1", "2.000000:2"])


@pytest.mark.parametrize("sequence", [1007, 2**62 + 5, 2**63, 2**64 - 5, "a sequence"])
def test_sequence(fleet_clients, sequence):
    """The model adds one at the start of a sequence. Over gRPC, ids from 2^63 on are negative, as in Triton's C++ client."""
    http, grpc = fleet_clients
    negative = isinstance(sequence, int) and sequence >= 2**63
    for infer, inputs, sequence_id in ((http.infer, lambda p: http_inputs(p, True), sequence),
                                       (grpc.infer, grpc_inputs, sequence - 2**64 if negative else sequence)):
        got = []
        for value, start, end in ((5, True, False), (6, False, False), (7, False, True)):
            pairs = [("INPUT", "INT32", np.array([[value]], np.int32))]
            result = infer("simple_sequence", inputs(pairs), sequence_id=sequence_id, sequence_start=start, sequence_end=end)
            got.append(int(result.as_numpy("OUTPUT")[0][0]))
        assert got == [6, 6, 7]


def test_parameters(fleet_clients):
    http, grpc = fleet_clients
    wanted = {"text": "x", "whole": -7, "yes": True, "fraction": 0.5}
    pairs = [("INPUT0", "INT32", np.array([1], np.int32))]
    for result in (http.infer("params_echo", http_inputs(pairs, True), parameters=wanted),
                   grpc.infer("params_echo", grpc_inputs(pairs), parameters=wanted)):
        seen = json.loads(result.as_numpy("OUTPUT0").flatten()[0])
        assert {k: v for k, v in seen.items() if k in wanted} == wanted


@pytest.mark.parametrize("model, output", [("identity", "INPUT0"), ("numpy", "output-0"), ("identity_fp32", "OUTPUT0")])
def test_ids(fleet_clients, model, output):
    http, grpc = fleet_clients
    pairs = [("INPUT0", "FP32", np.array([[1, 2]], np.float32))]
    for id in ("id-1", "0"):
        assert http.infer(model, http_inputs(pairs, True), request_id=id).get_response()["id"] == id
        result = grpc.infer(model, grpc_inputs(pairs), request_id=id)
        assert result.get_response().id == id and result.as_numpy(output).tolist() == [[1, 2]]


@pytest.mark.parametrize("model", ["simple", "identity"])
def test_no_id_is_none(fleet_clients, model):
    assert fleet_clients[1].infer(model, grpc_inputs(simple_pairs())).get_response().id == ""


def test_kserve_has_no_versions(fleet_clients):
    """KServe refuses every path with a version: the gateway omits it."""
    http, grpc = fleet_clients
    pairs = [("INPUT0", "FP32", np.array([[1, 2]], np.float32))]
    assert http.is_model_ready("numpy", "1") and grpc.is_model_ready("numpy", "1")
    assert http.get_model_metadata("numpy", "1")["name"] == "numpy" == grpc.get_model_metadata("numpy", "1").name
    for result in (http.infer("numpy", http_inputs(pairs, True), model_version="1"),
                   grpc.infer("numpy", grpc_inputs(pairs), model_version="1")):
        assert result.as_numpy("output-0").tolist() == [[1, 2]]
