"""The double as a server: responses, faults, drift, and files that are wrong."""
import http.client
import json

import grpc
import pytest

from oip_conformance import messages as pb
from oip_conformance.client import Rest, binary_body, grpc_request, json_body
from oip_conformance.double import Double, Fault, ModelError
from oip_conformance.tensors import tensor

MODEL = {"name": "m", "versions": ["1", "2"], "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
         "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}, {"name": "label", "datatype": "BYTES", "shape": [-1]},
                     {"name": "fixed", "datatype": "INT32", "shape": [-1]}],
         "double": {"values": {"fixed": [7, 8]}, "answers": "counting"}}
INPUT = tensor("x", "FP32", (3, 2), [1, 2, 3, 4, 5, 6])


@pytest.fixture
def m():
    with Double([MODEL]) as double:
        yield double


def put(double, **fault):
    return Rest(double.rest).call("PUT", "/double/fault", fault)


def infer(double, **fields):
    return Rest(double.rest).post("/v2/models/m/infer", json_body([INPUT], **fields))


def over_grpc(double, timeout=60):
    with grpc.insecure_channel(double.grpc) as channel:
        return pb.Stub(channel).ModelInfer(grpc_request("m", [INPUT]), timeout=timeout, wait_for_ready=True)


def test_response_hasNamesTypesAndShapesOfTheMetadata(m):
    result = infer(m, id="1").result()
    assert {one.name: (one.datatype, one.shape) for one in result.outputs.values()} == {
        "y": ("FP32", (3, 2)), "label": ("BYTES", (3,)), "fixed": ("INT32", (2,))}
    assert [int(value) for value in result["fixed"].elements()] == [7, 8]
    assert result["label"].elements() == [b"0", b"1", b"2"]
    assert (result.id, result.model_version) == ("1", "2")


def test_response_isTheSameOverEachWire(m):
    headers, body = binary_body([INPUT], parameters={"binary_data_output": True})
    binary = Rest(m.rest).post("/v2/models/m/versions/2/infer", body, headers).result()
    message = over_grpc(m)
    for at, output in enumerate(message.outputs):
        assert binary[output.name].bits() == infer(m).result()[output.name].bits()
        assert binary[output.name].raw == message.raw_output_contents[at]
    assert m.calls() == {"m": 5}


def test_error_onDemand_comesAsOftenAsAsked(m):
    put(m, kind="error", status=429, message="later", count=2, model="m").ok()
    assert [infer(m).status for _ in range(3)] == [429, 429, 200]
    put(m, kind="error", status=429, message="later")
    Rest(m.rest).call("DELETE", "/double/fault")
    assert infer(m).status == 200


def test_error_onDemand_hasTheCodeOfItsStatus(m):
    m.faults.put(None, Fault(kind="error", status=429, message="later"))
    with pytest.raises(grpc.RpcError) as failure:
        over_grpc(m)
    assert (failure.value.code().name, failure.value.details()) == ("RESOURCE_EXHAUSTED", "later")


def test_rate_isAShare_thatTheSeedFixes():
    def statuses():
        with Double([MODEL], seed=4) as double:
            double.faults.put(None, Fault(kind="error", rate=0.5))
            return [infer(double).status for _ in range(40)]
    first = statuses()
    assert first == statuses() and set(first) == {200, 503}


def test_half_isAnIncompleteBody(m):
    m.faults.put(None, Fault(kind="half"))
    connection = http.client.HTTPConnection(m.rest, timeout=60)
    connection.request("POST", "/v2/models/m/infer", json.dumps({"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]}))
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()


def test_hang_overGrpc_endsWithTheDeadline(m):
    m.faults.put(None, Fault(kind="hang"))
    with pytest.raises(grpc.RpcError) as failure:
        over_grpc(m, timeout=2)
    assert failure.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_model_unloaded_isNotReady_untilItIsLoaded(m):
    rest = Rest(m.rest)
    rest.post("/v2/repository/models/m/unload", b"{}").ok()
    assert rest.get("/v2/models/m/ready").status == 400 and infer(m).status == 503
    assert rest.post("/v2/repository/index", b"{}").json()[0]["state"] == "UNAVAILABLE"
    rest.post("/v2/repository/models/m/load", b"{}").ok()
    assert rest.get("/v2/models/m/ready").status == infer(m).status == 200


@pytest.mark.parametrize("fault, words", [
    ({"kind": "explode"}, "kind is 'explode', expected one of none, error"), ({"latency_ms": -1}, "latency_ms is -1, expected a number of 0"),
    ({"rate": 2}, "rate is 2, expected a number of 0 to 1"), ({"status": 200}, "status is 200, expected a number of 400 to 599"),
    ({"drift": "up"}, "drift is 'up'"), ({"other": 1}, "fault has ['other']"), ({"model": "n"}, "model 'n' is unknown")])
def test_fault_wrong_isRefused(m, fault, words):
    answer = put(m, **fault)
    assert answer.status in (400, 404) and words in answer.error()


@pytest.mark.parametrize("change, words", [
    ({"name": 1}, "expected an object with 'name'"), ({"inputs": {}}, "inputs is {}, expected an array"),
    ({"inputs": [{"name": "x", "datatype": "FP8", "shape": [1]}]}, "datatype of 'x' is 'FP8', expected one of BOOL"),
    ({"inputs": [{"name": "x", "datatype": "FP32", "shape": [-2]}]}, "shape of 'x' is [-2], expected an array of integers from -1"),
    ({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1 << 40]}]}, "expected at most 16777216 elements"),
    ({"double": {"answers": "magic"}}, "answers is 'magic', expected one of echo"), ({"double": {"other": 1}}, "double is {'other': 1}"),
    ({"double": {"values": {"z": [1]}}}, "values has 'z', expected some of the outputs"),
    ({"double": {"values": {"fixed": ["x"]}}}, "values of 'fixed'"), ({"double": {"values": {"y": [1, 2, 3]}}}, "which shape [-1, 2] cannot have"),
    ({"double": {"answers": "sums"}}, "expected two inputs and two outputs"), ({"double": {"fault": {"kind": "x"}}}, "kind is 'x'")])
def test_model_wrong_isRefused(change, words):
    with pytest.raises(ModelError) as failure:
        Double([{**MODEL, **change}])
    assert words in str(failure.value)
