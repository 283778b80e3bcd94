"""Streams: ModelStreamInfer with the official client and in MLServer's form, server-sent events, generate."""
import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as tg
from conftest import CONFIGURED, GATEWAYS, Rest, make_clients
from inputs import check_simple, grpc_inputs, simple_pairs
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

WORDS = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "BYTES", "data": ["a b c"]}]}
METHOD = "/inference.GRPCInferenceService/ModelStreamInfer"


def repeated(values, delays=None, wait=0):
    delays = delays or [0] * len(values)
    return [("IN", "INT32", np.array(values, np.int32)), ("DELAY", "UINT32", np.array(delays, np.uint32)),
            ("WAIT", "UINT32", np.array([wait], np.uint32))]


def repeat_json(values):
    return {"id": "e-1", "inputs": [{"name": name, "datatype": datatype, "shape": list(array.shape), "data": array.tolist()}
                                    for name, datatype, array in repeated(values)]}


def words_request():
    request = pb.ModelInferRequest(model_name="stream", id="m-1")
    request.inputs.add(name="INPUT0", datatype="BYTES", shape=[1])
    request.raw_input_contents.append(b"\x05\x00\x00\x00a b c")
    return request


class Stream:
    """The official client's stream; responses are read one by one."""

    def __init__(self, client, **options):
        self.client = client
        self.answers = queue.Queue()
        client.start_stream(lambda result, error: self.answers.put((result, error)), **options)

    def next(self):
        return self.answers.get(timeout=30)

    def result(self):
        result, error = self.next()
        assert error is None, error
        return result

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_stream()


def final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


@pytest.fixture
def over_grpc():
    """The official gRPC client of the gateway with gRPC upstreams."""
    client = make_clients(GATEWAYS["grpc"])[1]
    yield client
    client.close()


def test_decoupled(over_grpc):
    with Stream(over_grpc) as stream:
        over_grpc.async_stream_infer("repeat_int32", grpc_inputs(repeated([4, 5, 6])), request_id="d-1",
                                     enable_empty_final_response=True)
        for index, value in enumerate((4, 5, 6)):
            result = stream.result()
            assert (result.as_numpy("OUT")[0], result.as_numpy("IDX")[0]) == (value, index)
            assert result.get_response().id == "d-1" and not final(result)
        last = stream.result()
        assert final(last) and not last.get_response().outputs


def test_decoupled_without_empty_final(over_grpc):
    with Stream(over_grpc) as stream:
        for id in ("a", "b"):
            over_grpc.async_stream_infer("repeat_int32", grpc_inputs(repeated([1, 2])), request_id=id)
        got = [stream.result() for _ in range(4)]
    for id in ("a", "b"):
        assert [r.as_numpy("OUT")[0] for r in got if r.get_response().id == id] == [1, 2]
    assert stream.answers.empty()


def test_one_answer_each(fleet_clients):
    client = fleet_clients[1]
    with Stream(client) as stream:
        for index in range(5):
            client.async_stream_infer("simple", grpc_inputs(simple_pairs()), request_id=str(index))
        results = [stream.result() for _ in range(5)]
    for result in results:
        check_simple(result)
    assert sorted(r.get_response().id for r in results) == list("01234")


def test_only_answer_is_the_last(fleet_clients):
    """As Triton over gRPC, the gateway marks the only response and sends no empty one after it."""
    client = fleet_clients[1]
    with Stream(client) as stream:
        for asked in (True, False, True):
            client.async_stream_infer("simple", grpc_inputs(simple_pairs()), request_id="1", enable_empty_final_response=asked)
            result = stream.result()
            check_simple(result)
            assert final(result)
    assert stream.answers.empty()


def test_errors_do_not_end_the_stream(fleet_clients):
    client = fleet_clients[1]
    with Stream(client) as stream:
        client.async_stream_infer("nope", grpc_inputs(simple_pairs()), request_id="x")
        client.async_stream_infer("fail", grpc_inputs([("INPUT0", "BYTES", np.array([b"INTERNAL"], np.object_))]))
        errors = [str(stream.next()[1]) for _ in range(2)]
        assert any("nope" in error for error in errors)
        assert any("model says: INTERNAL" in error for error in errors)
        client.async_stream_infer("simple", grpc_inputs(simple_pairs()))
        check_simple(stream.result())


def test_error_as_status(fleet_clients):
    client = fleet_clients[1]
    with Stream(client, headers={"triton_grpc_error": "true"}) as stream:
        client.async_stream_infer("nope", grpc_inputs(simple_pairs()))
        error = stream.next()[1]
    assert isinstance(error, InferenceServerException) and error.status() == "StatusCode.NOT_FOUND"


def test_decoupled_over_rest_is_refused_in_the_stream():
    """Triton does not serve decoupled models over REST, and reports that."""
    client = make_clients(GATEWAYS["rest"])[1]
    with Stream(client) as stream:
        client.async_stream_infer("repeat_int32", grpc_inputs(repeated([1])))
        assert "decoupled" in str(stream.next()[1])
        client.async_stream_infer("simple", grpc_inputs(simple_pairs()))
        check_simple(stream.result())
    client.close()


def test_decoupled_is_refused_without_a_stream(fleet_clients, fleet_rest):
    fleet_rest.refused(501, "POST", "/v2/models/repeat_int32/infer", repeat_json([1]))
    with pytest.raises(InferenceServerException) as failure:
        fleet_clients[1].infer("repeat_int32", grpc_inputs(repeated([1])))
    assert failure.value.status() == "StatusCode.UNIMPLEMENTED"


def test_mlserver_in_the_envelope(fleet_clients):
    client = fleet_clients[1]
    words = [("INPUT0", "BYTES", np.array([b"a b c"], np.object_))]
    with Stream(client) as stream:
        client.async_stream_infer("stream", grpc_inputs(words), request_id="m-1")
        results = [stream.result() for _ in range(3)]
    assert [r.as_numpy("output").flatten()[0] for r in results] == [b"a", b"b", b"c"]
    assert {r.get_response().id for r in results} == {"m-1"}


def bare(address, requests, metadata=()):
    """A stream with MLServer's own stub."""
    with grpc.insecure_channel(address) as channel:
        method = channel.stream_stream(METHOD, pb.ModelInferRequest.SerializeToString, pb.ModelInferResponse.FromString)
        return list(method(iter(requests), metadata=metadata, timeout=30))


@pytest.mark.parametrize("by", ["header", "configuration"])
def test_mlserver_form(fleet, by, witness):
    metadata = [("isthmus-stream-form", "oip")] if by == "header" else []
    answers = bare(fleet if by == "header" else CONFIGURED, [words_request()], metadata)
    assert [tg.InferResult(a).as_numpy("output").flatten()[0] for a in answers] == [b"a", b"b", b"c"]
    assert {a.id for a in answers} == {"m-1"} and {a.model_name for a in answers} == {"stream"}


def test_mlserver_form_of_triton():
    request = tg._utils._get_inference_request(
        model_name="repeat_int32", inputs=grpc_inputs(repeated([7, 8])), model_version="", request_id="t",
        outputs=None, sequence_id=0, sequence_start=False, sequence_end=False, priority=0, timeout=None, parameters=None)
    answers = bare(GATEWAYS["grpc"], [request], [("isthmus-stream-form", "oip")])
    assert [tg.InferResult(a).as_numpy("OUT")[0] for a in answers] == [7, 8]


def test_unknown_form(fleet):
    with pytest.raises(grpc.RpcError) as failure:
        bare(fleet, [words_request()], [("isthmus-stream-form", "x")])
    assert failure.value.code().name == "INVALID_ARGUMENT"


def test_cancel(over_grpc):
    stream = Stream(over_grpc)
    over_grpc.async_stream_infer("repeat_int32", grpc_inputs(repeated([1, 2, 3], [0, 700, 700])))
    assert stream.result().as_numpy("OUT")[0] == 1
    over_grpc.stop_stream(cancel_requests=True)
    _, failure = list(stream.answers.queue)[-1]
    assert failure.status() == "StatusCode.CANCELLED"
    with Stream(over_grpc) as again:
        over_grpc.async_stream_infer("simple", grpc_inputs(simple_pairs()))
        check_simple(again.result())


def ask_for_events(rest, by, model, body):
    path = "/v2/models/%s/infer" % model
    return rest.events(path + "_stream", body) if by == "path" else rest.events(path, body, {"Accept": "text/event-stream"})


@pytest.mark.parametrize("by", ["path", "accept"])
def test_events_of_triton(by):
    rest = Rest(GATEWAYS["grpc"])
    events = ask_for_events(rest, by, "repeat_int32", repeat_json([4, 5, 6]))
    outputs = [{o["name"]: o["data"] for o in event["outputs"]} for event in events]
    assert [(o["OUT"], o["IDX"]) for o in outputs] == [([4], [0]), ([5], [1]), ([6], [2])]
    assert {event["id"] for event in events} == {"e-1"} and {event["model_name"] for event in events} == {"repeat_int32"}
    rest.connection.close()


@pytest.mark.parametrize("by", ["path", "accept"])
def test_events_of_mlserver(fleet_rest, by):
    events = ask_for_events(fleet_rest, by, "stream", dict(WORDS, id="e-2"))
    assert [event["outputs"][0]["data"] for event in events] == [["a"], ["b"], ["c"]]
    assert {event["id"] for event in events} == {"e-2"}


def test_events_of_a_model_that_answers_once(fleet_rest):
    body = {"inputs": [{"name": n, "shape": [1, 16], "datatype": "INT32", "data": [1] * 16} for n in ("INPUT0", "INPUT1")]}
    events = fleet_rest.events("/v2/models/simple/infer_stream", body)
    assert [event["outputs"][0]["data"] for event in events] == [[2] * 16]


def test_events_refused(fleet_rest):
    """Before the first event an error has its own status."""
    for path in ("/v2/models/simple/infer_stream", "/v2/models/nope/infer_stream"):
        status = 404 if "nope" in path else 400
        fleet_rest.refused(status, "POST", path, {"inputs": [{"name": "INPUT0", "shape": [1, 16], "datatype": "INT32",
                                                             "data": [1] * (16 if status == 404 else 15)}]})
