"""Health and metadata over both protocols."""
import json

import pytest
from tritonclient.utils import InferenceServerException


def test_live_and_ready(clients, rest):
    for client in clients:
        assert client.is_server_live() and client.is_server_ready()
        assert client.is_model_ready("simple") and client.is_model_ready("simple", "1")
        assert not client.is_model_ready("simple", "77")
    assert rest.ask("GET", "/v2/health/live")[2] == b'{"live":true}'
    assert rest.ask("GET", "/v2/health/ready")[2] == b'{"ready":true}'
    assert rest.ask("GET", "/v2/models/simple/ready")[2] == b'{"name":"simple","ready":true}'


def test_server_metadata(clients):
    http, grpc = clients
    assert http.get_server_metadata()["name"] == "isthmus"
    assert list(grpc.get_server_metadata().extensions) == http.get_server_metadata()["extensions"]


def test_model_metadata(clients):
    http, grpc = clients
    got = http.get_model_metadata("simple")
    assert (got["name"], got["versions"]) == ("simple", ["1"])
    want = [{"name": n, "datatype": "INT32", "shape": [-1, 16]} for n in ("INPUT0", "INPUT1")]
    assert got["inputs"] == want
    assert [o["name"] for o in got["outputs"]] == ["OUTPUT0", "OUTPUT1"]
    reply = grpc.get_model_metadata("simple")
    assert [(i.name, i.datatype, list(i.shape)) for i in reply.inputs] == [(i["name"], i["datatype"], i["shape"]) for i in want]
    assert list(reply.versions) == ["1"] and reply.platform == got["platform"]


def test_model_metadata_of_versions(fleet_clients):
    http, grpc = fleet_clients
    assert http.get_model_metadata("versioned")["versions"] == ["1", "3"]
    assert list(grpc.get_model_metadata("versioned").versions) == ["1", "3"]


def test_mlserver_metadata(fleet_clients):
    http, grpc = fleet_clients
    assert http.get_model_metadata("iris")["inputs"][0]["name"] == "predict"
    assert grpc.get_model_metadata("iris").inputs[0].name == "predict"
    assert http.is_model_ready("iris") and grpc.is_model_ready("iris")


def test_unknown_model(clients, rest):
    for path in ("/v2/models/nope", "/v2/models/nope/versions/1"):
        assert "nope" in rest.refused(404, "GET", path)
    with pytest.raises(InferenceServerException, match="nope") as failure:
        clients[1].get_model_metadata("nope")
    assert failure.value.status() == "StatusCode.NOT_FOUND"


def test_unknown_version(clients, rest):
    rest.refused(404, "GET", "/v2/models/simple/versions/77")
    with pytest.raises(InferenceServerException) as failure:
        clients[1].get_model_metadata("simple", "77")
    assert failure.value.status() == "StatusCode.NOT_FOUND"


def test_paths_and_methods(rest):
    assert rest.ask("GET", "/v2/")[2] == rest.ask("GET", "/v2")[2]
    for path in ("/v2/health/live/", "/v1/models", "/v2/models/simple/nope"):
        assert rest.refused(404, "GET", path) == "Not Found"
    rest.refused(405, "POST", "/v2/health/live", "")
    rest.refused(405, "GET", "/v2/models/simple/infer")
    rest.refused(400, "GET", "/v2/models/a%2fb")
    assert json.loads(rest.ask("GET", "/v2/models/s%69mple")[2])["name"] == "simple"
