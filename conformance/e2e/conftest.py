"""Fixtures: the gateways under test, each with the official clients.

ISTHMUS_GRPC, ISTHMUS_REST   host:port of a gateway that speaks gRPC, or REST, to a real Triton and a real MLServer
ISTHMUS_LOCAL                host:port of a gateway with the embedded models
"""
import http.client
import json
import os

import pytest
import tritonclient.grpc
import tritonclient.http

GATEWAYS = {"grpc": os.environ["ISTHMUS_GRPC"], "rest": os.environ["ISTHMUS_REST"], "local": os.environ["ISTHMUS_LOCAL"]}


@pytest.fixture(params=["grpc", "rest", "local"])
def gateway(request):
    return GATEWAYS[request.param]


@pytest.fixture(params=["grpc", "rest"])
def fleet(request):
    """A gateway in front of real servers."""
    return GATEWAYS[request.param]


class Rest:
    """One keep-alive connection. After each failure the same connection must still serve."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=30)

    def ask(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        return response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read()

    def refused(self, status, method, path, body=None, headers=None):
        got, fields, text = self.ask(method, path, body, headers)
        assert got == status, text
        assert fields["content-type"] == "application/json"
        error = json.loads(text)
        assert list(error) == ["error"] and isinstance(error["error"], str)
        alive, _, _ = self.ask("GET", "/v2/health/live")
        assert alive == 200
        return error["error"]


def make_clients(address):
    return tritonclient.http.InferenceServerClient(address), tritonclient.grpc.InferenceServerClient(address)


@pytest.fixture
def rest(gateway):
    client = Rest(gateway)
    yield client
    client.connection.close()


@pytest.fixture
def fleet_rest(fleet):
    client = Rest(fleet)
    yield client
    client.connection.close()


@pytest.fixture
def clients(gateway):
    both = make_clients(gateway)
    yield both
    for client in both:
        client.close()


@pytest.fixture
def fleet_clients(fleet):
    both = make_clients(fleet)
    yield both
    for client in both:
        client.close()
