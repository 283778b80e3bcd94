"""One client, in its default form, against servers that differ: binary data, raw requests, half floats, NaN."""
import json
import struct

import ml_dtypes
import numpy as np
import pytest
import tritonclient.http as th
from inputs import TYPES, grpc_inputs, http_inputs, same
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

SERVERS = {"mlserver": ("identity", "INPUT0"), "kserve": ("numpy", "output-0")}
PATH = "/v2/models/%s/infer"
SPECIAL = {"inputs": [{"name": "INPUT0", "shape": [1], "datatype": "INT32", "data": [1]}]}
RAW = {"Inference-Header-Content-Length": "0", "Content-Type": "application/octet-stream"}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("datatype", TYPES)
def test_default_form(fleet_clients, server, datatype):
    """Binary in both directions over REST, raw over gRPC, whatever the server supports."""
    http, grpc = fleet_clients
    model, output = SERVERS[server]
    pairs = [("INPUT0", datatype, TYPES[datatype])]
    result = http.infer(model, http_inputs(pairs, True))
    assert "data" not in result.get_output(output)
    same(result.as_numpy(output), TYPES[datatype])
    same(grpc.infer(model, grpc_inputs(pairs)).as_numpy(output), TYPES[datatype])


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("binary_in, binary_out", [(True, False), (False, True), (False, False)])
def test_mixed_forms(fleet_clients, server, binary_in, binary_out):
    model, output = SERVERS[server]
    wanted = [] if server == "mlserver" else [th.InferRequestedOutput(output, binary_data=binary_out)]
    pairs = [("INPUT0", "FP32", TYPES["FP32"])]
    same(fleet_clients[0].infer(model, http_inputs(pairs, binary_in), outputs=wanted).as_numpy(output), TYPES["FP32"])


@pytest.mark.parametrize("server", SERVERS)
def test_half_floats_as_json(fleet_rest, server):
    model, output = SERVERS[server]
    body = '{"inputs":[{"name":"INPUT0","shape":[3],"datatype":"FP16","data":[0.1,-0.0,65500.0]}]}'
    [got] = fleet_rest.infer(PATH % model, body)["outputs"]
    assert (got["datatype"], np.array(got["data"], np.float16).tobytes()) == ("FP16", np.float16([0.1, -0.0, 65504]).tobytes())


@pytest.mark.parametrize("server", SERVERS)
def test_bfloat16_is_refused(fleet_rest, server):
    """Neither server supports it."""
    body = '{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"BF16","data":[1.0]}]}'
    status, _, answer = fleet_rest.ask("POST", PATH % SERVERS[server][0], body)
    assert status >= 400 and list(json.loads(answer)) == ["error"]


@pytest.mark.parametrize("datatype, kind", [("FP16", np.float16), ("BF16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize("binary_in, binary_out", [(True, False), (False, True)])
def test_half_floats_between_forms(fleet_rest, datatype, kind, binary_in, binary_out):
    """Binary in and JSON out, and the reverse."""
    values = np.array([0.1, -0.0, 3.0], kind)
    tensor = {"name": "INPUT0", "shape": [1, 3], "datatype": datatype}
    raw = values.tobytes()
    if binary_in:
        tensor["parameters"] = {"binary_data_size": len(raw)}
    else:
        tensor["data"] = [0.1, -0.0, 3.0]
    head = json.dumps({"inputs": [tensor], "outputs": [{"name": "OUTPUT0", "parameters": {"binary_data": binary_out}}]}).encode()
    status, fields, answer = fleet_rest.ask("POST", PATH % ("identity_" + datatype.lower()), head + (raw if binary_in else b""),
                                            {"Inference-Header-Content-Length": str(len(head))})
    assert status == 200, answer
    if binary_out:
        assert answer[int(fields["inference-header-content-length"]):] == raw
    else:
        assert np.array(json.loads(answer)["outputs"][0]["data"], kind).tobytes() == raw


def test_raw_request(fleet_rest):
    """The body is the data of the only input; its shape follows from the length."""
    status, fields, answer = fleet_rest.ask("POST", PATH % "versioned", struct.pack("<3i", 1, 2, -7), RAW)
    assert status == 200 and fields["content-type"] == "application/octet-stream"
    length = int(fields["inference-header-content-length"])
    [output] = json.loads(answer[:length])["outputs"]
    assert (output["shape"], output["datatype"]) == ([3], "INT32")
    assert answer[length:] == struct.pack("<3i", 4, 5, -4)


def test_raw_request_of_bytes(fleet_rest):
    assert fleet_rest.refused(503, "POST", PATH % "fail", b"UNAVAILABLE", RAW) == "model says: UNAVAILABLE"


def test_raw_request_of_rows(fleet_rest):
    status, fields, answer = fleet_rest.ask("POST", PATH % "iris", np.float32([5.1, 3.5, 1.4, 0.2]).tobytes(), RAW)
    assert status == 200, answer
    assert np.frombuffer(answer[int(fields["inference-header-content-length"]):], np.int64).tolist() == [0]


@pytest.mark.parametrize("model, body, words", [
    ("simple", bytes(128), ["simple", "input"]), ("versioned", bytes(7), ["INPUT0"]),
])
def test_raw_request_refused(fleet_rest, model, body, words):
    """Two inputs; half an element."""
    message = fleet_rest.refused(400, "POST", PATH % model, body, RAW)
    assert all(word in message for word in words), message


def test_raw_request_of_one_batch(fleet_rest):
    """If two dimensions are variable, the first is the batch: the request is a batch of one."""
    values = np.float32([1.5, -2, 3])
    status, fields, answer = fleet_rest.ask("POST", PATH % "identity_fp32", values.tobytes(), RAW)
    assert status == 200, answer
    length = int(fields["inference-header-content-length"])
    assert json.loads(answer[:length])["outputs"][0]["shape"] == [1, 3] and answer[length:] == values.tobytes()


def special(rest, model="special_fp32", **headers):
    status, fields, text = rest.ask("POST", PATH % model, SPECIAL, headers)
    assert status == 200 and fields["content-type"] == "application/json", text
    return text.decode().split('"data":[')[1].split(",")[:3]


@pytest.mark.parametrize("policy, words", [
    ("token", ["NaN", "Infinity", "-Infinity"]), ("null", ["null"] * 3), ("string", ['"NaN"', '"Infinity"', '"-Infinity"'])])
def test_nan_as_asked(fleet_rest, policy, words):
    assert special(fleet_rest, Accept="application/json;nonfinite=" + policy) == words


def test_nan_as_error(fleet_rest):
    headers = {"Accept": "application/json; nonfinite=error"}
    status, _, text = fleet_rest.ask("POST", PATH % "special_fp32", SPECIAL, headers)
    assert status >= 400 and "OUTPUT0" in json.loads(text)["error"]
    fleet_rest.refused(400, "POST", PATH % "special_fp32", SPECIAL, {"Accept": "application/json;nonfinite=x"})
    body = {"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1.5]}]}
    assert fleet_rest.infer(PATH % "identity_fp32", body, headers)["outputs"][0]["data"] == [1.5]


def test_nan_by_default(fleet_rest, configured):
    assert special(fleet_rest) == ["NaN", "Infinity", "-Infinity"]
    assert special(configured[0]) == ['"NaN"', '"Infinity"', '"-Infinity"']
    assert special(configured[0], Accept="application/json;nonfinite=null") == ["null"] * 3


@pytest.mark.parametrize("values", ["[NaN,1.5]", '["NaN",1.5]', "[null,1.5]"])
@pytest.mark.parametrize("model", ["identity", "numpy", "identity_fp32"])
def test_nan_in(fleet_rest, wire, model, values):
    if (wire, model) == ("grpc", "identity"):
        return  # MLServer accepts a NaN over gRPC but fails to return one: test_nan_of_mlserver_over_grpc
    body = '{"inputs":[{"name":"INPUT0","shape":[1,2],"datatype":"FP32","data":%s}]}' % values
    data = fleet_rest.infer(PATH % model, body)["outputs"][0]["data"]
    assert np.isnan(np.array(data, np.float32)).tolist() == [True, False]


def test_infinity_is_never_changed(fleet_clients, wire):
    """It arrives unchanged, or the request is refused; null would be NaN."""
    array = np.array([[np.inf, -np.inf]], np.float32)
    for model, output in SERVERS.values():
        try:
            got = fleet_clients[0].infer(model, http_inputs([("INPUT0", "FP32", array)], True)).as_numpy(output)
        except InferenceServerException as refused:
            assert model == "identity" and refused.status() in ("400", "500"), refused
        else:
            same(got, array)


@pytest.mark.parametrize("form", [None, False, True])
@pytest.mark.parametrize("model, output", [("numpy", "output-0")])
@pytest.mark.parametrize("datatype", ["FP32", "BYTES"])
def test_empty_output_of_kserve(fleet_rest, model, output, datatype, form):
    """KServe fails if its model and its server get different settings of binary data."""
    wanted = {"name": output} if form is None else {"name": output, "parameters": {"binary_data": form}}
    body = {"inputs": [{"name": "INPUT0", "shape": [0], "datatype": datatype, "data": []}], "outputs": [wanted]}
    [got] = fleet_rest.infer(PATH % model, body)["outputs"]
    assert (got["name"], got["datatype"], got["shape"]) == (output, datatype, [0])
    assert got.get("data") == (None if form else [])


@pytest.mark.parametrize("model", ["simple", "identity"])
def test_empty_contents_beside_raw_contents(fleet_clients, model):
    """As MLServer's own client sends it with use_raw."""
    _, grpc = fleet_clients
    values = np.arange(16, dtype=np.int32)
    request = service_pb2.ModelInferRequest(model_name=model)
    for name in ("INPUT0", "INPUT1"):
        tensor = request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
        tensor.contents.SetInParent()
        request.raw_input_contents.append(values.tobytes())
    answer = grpc._client_stub.ModelInfer(request)
    assert answer.raw_output_contents[0] == (values * 2 if model == "simple" else values).tobytes()
