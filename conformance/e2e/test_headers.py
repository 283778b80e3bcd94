"""Headers to and from the servers (R22), and timeouts."""
import uuid

import numpy as np
import pytest
from inputs import grpc_inputs, http_inputs
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

BY_DEFAULT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "authorization": "Bearer t"}
CHOSEN = {"x-request-id": "r-1", "x-team-name": "blue", "x-team-color": "b"}
ONE = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]}


def arrived(witness, id, out):
    headers, _, times = witness[out].last(id)
    assert times == 1
    return headers


@pytest.mark.parametrize("out", ["rest", "grpc"])
def test_forwarded_as_configured(configured, witness, out):
    rest, _, grpc = configured
    sent = {**BY_DEFAULT, **CHOSEN, "x-teamless": "no"}
    id = uuid.uuid4().hex
    rest.infer("/v2/models/witness_%s/infer" % out, dict(ONE, id=id), {k.title(): v for k, v in sent.items()})
    seen = [arrived(witness, id, out)]
    request = pb.ModelInferRequest(model_name="witness_" + out, id=uuid.uuid4().hex)
    request.inputs.add(name="INPUT0", datatype="INT32", shape=[1])
    request.raw_input_contents.append(bytes(4))
    grpc._client_stub.ModelInfer(request, metadata=list(sent.items()))
    seen.append(arrived(witness, request.id, out))
    for headers in seen:
        assert {name: headers.get(name) for name in sent} == {name: CHOSEN.get(name) for name in sent}


def metadata(call):
    return dict((*call.initial_metadata(), *call.trailing_metadata()))


def test_returned(fleet_rest, fleet_clients):
    """MLServer describes its response in headers over REST, and in trailers over gRPC."""
    body = {"id": "ce-1", "inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [1.5]}]}
    status, fields, _ = fleet_rest.ask("POST", "/v2/models/identity/infer", body)
    assert status == 200 and fields["ce-id"] == "ce-1" and fields["ce-type"]
    request = pb.ModelInferRequest(model_name="identity", id="ce-2")
    request.inputs.add(name="INPUT0", datatype="FP32", shape=[1])
    request.raw_input_contents.append(bytes(4))
    _, call = fleet_clients[1]._client_stub.ModelInfer.with_call(request)
    assert metadata(call)["ce-id"] == "ce-2" and metadata(call)["ce-type"]


def test_returned_as_configured(configured):
    body = {"id": "ce-1", "inputs": [{"name": "INPUT0", "shape": [1], "datatype": "FP32", "data": [1.5]}]}
    _, fields, _ = configured[0].ask("POST", "/v2/models/identity/infer", body)
    assert [name for name in fields if name.startswith("ce-")] == ["ce-id"]


def slow(milliseconds):
    return {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [milliseconds]}]}


@pytest.mark.parametrize("header, value", [("X-Request-Timeout-Ms", "200"), ("grpc-timeout", "200m")])
def test_deadline_over_rest(fleet_rest, header, value):
    fleet_rest.refused(504, "POST", "/v2/models/slow/infer", slow(900), {header: value})


@pytest.mark.parametrize("value", ["0", "-1", "x", "1s", "99999999999"])
def test_deadline_refused(rest, value):
    assert value in rest.refused(400, "POST", "/v2/models/simple/infer", ONE, {"X-Request-Timeout-Ms": value})


def test_deadline_that_is_kept(fleet_rest):
    answer = fleet_rest.infer("/v2/models/slow/infer", slow(100), {"X-Request-Timeout-Ms": "20000"})
    assert answer["outputs"][0]["data"] == [100]


def test_timeout_of_the_upstream(configured):
    rest, http, grpc = configured
    rest.refused(504, "POST", "/v2/models/slow/infer", slow(1600))
    pairs = [("INPUT0", "INT32", np.array([1600], np.int32))]
    for infer, inputs, status in ((http.infer, http_inputs(pairs, True), "504"),
                                  (grpc.infer, grpc_inputs(pairs), "StatusCode.DEADLINE_EXCEEDED")):
        with pytest.raises(InferenceServerException) as failure:
            infer("slow", inputs)
        assert failure.value.status() == status
