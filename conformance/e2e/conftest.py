"""Fixtures: the gateways under test, each with the official clients.

ISTHMUS_GRPC, ISTHMUS_REST   host:port of a gateway that speaks gRPC, or REST, to a real Triton, MLServer and KServe
ISTHMUS_SHARED_GRPC, _REST   the same with Triton alone, which shares memory with clients
TRITON_REST, TRITON_GRPC     host:port of that Triton itself
ISTHMUS_LOCAL                host:port of a gateway with the embedded models
ISTHMUS_CONFIGURED           host:port of a gateway with other headers and answers than by default (EndToEndTest has them)
ISTHMUS_WITNESS_REST, _GRPC  ports where that gateway has its upstreams witness_rest and witness_grpc
"""
import http.client
import json
import os
import sys
import time

import pytest
import tritonclient.grpc
import tritonclient.http

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from oip_conformance.witness import start_witnesses  # noqa: E402 - the folder above is no package

GATEWAYS = {"grpc": os.environ["ISTHMUS_GRPC"], "rest": os.environ["ISTHMUS_REST"], "local": os.environ["ISTHMUS_LOCAL"]}
CONFIGURED = os.environ["ISTHMUS_CONFIGURED"]


@pytest.fixture(params=["grpc", "rest", "local"])
def gateway(request):
    return GATEWAYS[request.param]


@pytest.fixture(params=["grpc", "rest"])
def wire(request):
    """The protocol between a gateway and its real servers."""
    return request.param


@pytest.fixture
def fleet(wire):
    """A gateway in front of real servers."""
    return GATEWAYS[wire]


class Rest:
    """One keep-alive connection, which must stay usable after errors."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=30)

    def ask(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        return response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read()

    def infer(self, path, body, headers=None):
        """The JSON body of a 200."""
        status, _, text = self.ask("POST", path, body, headers)
        assert status == 200, text
        return json.loads(text)

    def events(self, path, body, headers=None):
        """The JSON of each event of a stream."""
        status, fields, text = self.ask("POST", path, body, headers)
        assert status == 200, text
        assert fields["content-type"].split(";")[0] == "text/event-stream"
        blocks = text.decode().split("\n\n")
        assert blocks.pop() == "" and all(block.startswith("data: ") for block in blocks), text
        return [json.loads(block[len("data: "):]) for block in blocks]

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


@pytest.fixture(scope="session")
def witness():
    """The scripted upstream servers, with received requests by wire."""
    ports = int(os.environ["ISTHMUS_WITNESS_REST"]), int(os.environ["ISTHMUS_WITNESS_GRPC"])
    with start_witnesses(*ports) as witnesses:
        end = time.monotonic() + 30
        while Rest(CONFIGURED).ask("GET", "/v2/health/ready")[0] != 200:
            assert time.monotonic() < end, "the gateway does not see the witnesses"
            time.sleep(0.1)
        yield witnesses


@pytest.fixture
def configured():
    """REST and gRPC clients of the gateway with another configuration."""
    http, grpc = make_clients(CONFIGURED)
    rest = Rest(CONFIGURED)
    yield rest, http, grpc
    rest.connection.close()
    http.close()
    grpc.close()
