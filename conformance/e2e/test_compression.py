"""Compression of requests and responses, REST and gRPC (R16, R23)."""
import asyncio
import gzip
import json
import zlib

import numpy as np
import pytest
import tritonclient.http.aio
from conftest import GATEWAYS, Rest, make_clients
from inputs import check_simple, grpc_inputs, http_inputs, same, simple_pairs
from test_streaming import Stream

CODINGS = {"gzip": gzip, "deflate": zlib}
ARRAY = np.random.default_rng(7).integers(0, 5, (64, 256)).astype(np.float32)
PAIRS = [("INPUT0", "FP32", ARRAY)]


@pytest.mark.parametrize("coding", CODINGS)
def test_both_ways(clients, coding):
    check_simple(clients[0].infer("simple", http_inputs(simple_pairs(), True), request_compression_algorithm=coding,
                                  response_compression_algorithm=coding))


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("model, output", [("identity_fp32", "OUTPUT0"), ("identity", "INPUT0"), ("numpy", "output-0")])
def test_large(fleet_clients, coding, model, output):
    http, _ = fleet_clients
    for binary in (True, False):
        result = http.infer(model, http_inputs(PAIRS, binary), request_compression_algorithm=coding,
                            response_compression_algorithm=coding)
        same(result.as_numpy(output), ARRAY)


def large():
    tensor = {"name": "INPUT0", "shape": list(ARRAY.shape), "datatype": "FP32", "data": ARRAY.flatten().tolist()}
    return json.dumps({"inputs": [tensor]}).encode()


@pytest.mark.parametrize("coding", CODINGS)
def test_of_the_answer(fleet_rest, coding):
    path = "/v2/models/identity_fp32/infer"
    status, fields, text = fleet_rest.ask("POST", path, large(), {"Accept-Encoding": coding})
    assert status == 200 and fields["content-encoding"] == coding and "accept-encoding" in fields["vary"].lower()
    assert int(fields["content-length"]) == len(text) < len(large())
    assert json.loads(CODINGS[coding].decompress(text))["outputs"][0]["data"] == ARRAY.flatten().tolist()
    _, fields, text = fleet_rest.ask("POST", path, large(), {"Accept-Encoding": "identity"})
    assert "content-encoding" not in fields and json.loads(text)["outputs"][0]["shape"] == list(ARRAY.shape)
    for path in ("/v2/health/live", "/v2/models/identity_fp32", "/v2/models/identity_fp32/config", "/v2/models/stats"):
        _, fields, _ = fleet_rest.ask("GET", path, headers={"Accept-Encoding": coding})
        assert "content-encoding" not in fields, path


def test_lengths_count_what_is_decompressed(rest):
    tensors = [{"name": n, "shape": [1, 16], "datatype": "INT32", "parameters": {"binary_data_size": 64}}
               for n in ("INPUT0", "INPUT1")]
    head = json.dumps({"inputs": tensors}).encode()
    body = gzip.compress(head + bytes(128))
    answer = rest.infer("/v2/models/simple/infer", body, {"Content-Encoding": "gzip",
                                                         "Inference-Header-Content-Length": str(len(head))})
    assert answer["outputs"][0]["data"] == [0] * 16


def test_switched_off(configured):
    status, fields, text = configured[0].ask("POST", "/v2/models/identity_fp32/infer", large(), {"Accept-Encoding": "gzip"})
    assert status == 200 and "content-encoding" not in fields, text[:100]


def test_unknown(rest):
    status, fields, text = rest.ask("POST", "/v2/models/simple/infer", b"x", {"Content-Encoding": "br"})
    assert status == 415 and "'br'" in json.loads(text)["error"] and "gzip" in fields["accept-encoding"]


def test_bomb(rest):
    """The size limit applies to the decompressed body."""
    body = gzip.compress(b" " * (40 << 20))
    message = rest.refused(413, "POST", "/v2/models/simple/infer", body, {"Content-Encoding": "gzip"})
    assert "at most 100 bytes are accepted for each compressed one" in message


@pytest.mark.parametrize("coding", CODINGS)
def test_not_compressed(rest, coding):
    body = b'{"this":"is certainly no compressed content at all"}'
    rest.refused(400, "POST", "/v2/models/simple/infer", body, {"Content-Encoding": coding})


def test_something_follows(rest):
    tensors = [{"name": n, "shape": [1, 16], "datatype": "INT32", "data": [1] * 16} for n in ("INPUT0", "INPUT1")]
    body = gzip.compress(json.dumps({"inputs": tensors}).encode())
    rest.infer("/v2/models/simple/infer", body, {"Content-Encoding": "gzip"})
    rest.refused(400, "POST", "/v2/models/simple/infer", body + b"and more", {"Content-Encoding": "gzip"})


@pytest.mark.parametrize("coding", CODINGS)
def test_cut_off(gateway, coding):
    rest = Rest(gateway)
    body = CODINGS[coding].compress(large())[:-9]
    rest.refused(400, "POST", "/v2/models/simple/infer", body, {"Content-Encoding": coding})
    rest.connection.close()


@pytest.mark.parametrize("coding", CODINGS)
def test_grpc(clients, coding):
    check_simple(clients[1].infer("simple", grpc_inputs(simple_pairs()), compression_algorithm=coding))


@pytest.mark.parametrize("coding", CODINGS)
def test_grpc_large(fleet_clients, coding):
    same(fleet_clients[1].infer("identity_fp32", grpc_inputs(PAIRS), compression_algorithm=coding).as_numpy("OUTPUT0"), ARRAY)


@pytest.mark.parametrize("coding", CODINGS)
def test_grpc_stream(fleet_clients, coding):
    client = fleet_clients[1]
    with Stream(client, compression_algorithm=coding) as stream:
        for _ in range(3):
            client.async_stream_infer("identity_fp32", grpc_inputs(PAIRS))
        for _ in range(3):
            same(stream.result().as_numpy("OUTPUT0"), ARRAY)


def test_events_are_not_compressed():
    rest = Rest(GATEWAYS["grpc"])
    status, fields, text = rest.ask("POST", "/v2/models/identity_fp32/infer_stream", large(), {"Accept-Encoding": "gzip"})
    assert status == 200 and "content-encoding" not in fields and text.startswith(b"data: ")
    rest.connection.close()
    for client in make_clients(GATEWAYS["grpc"]):
        assert client.is_server_live()
        client.close()


def test_asyncio_client_with_its_defaults(gateway):
    """It accepts gzip, but decodes it only in inference responses."""
    async def ask():
        async with tritonclient.http.aio.InferenceServerClient(gateway) as client:
            metadata = await client.get_server_metadata()
            index = await client.get_model_repository_index()
            statistics = await client.get_inference_statistics()
            configuration = await client.get_model_config("simple")
            model = await client.get_model_metadata("simple")
            return metadata["name"], len(index), len(statistics["model_stats"]), configuration["name"], model["name"]

    _, models, counted, *names = asyncio.run(ask())
    assert models > 1 and counted > 1 and names == ["simple", "simple"]
