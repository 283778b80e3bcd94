"""Fixtures: one gateway in front of two real Tritons, one MLServer and the embedded models (FleetTest has its configuration).

ISTHMUS_FLEET    host:port of the gateway;  ISTHMUS_ADMIN  of its admin listener
TRITON_A, TRITON_B   host:port of the Tritons' gRPC;  TRITON_B_PID  the second one's process, which the last test kills
"""
import http.client
import json
import os
import re
import time

import numpy as np
import pytest
import tritonclient.grpc as tg
import tritonclient.http as th

FLEET = os.environ["ISTHMUS_FLEET"]
ADMIN = os.environ["ISTHMUS_ADMIN"]


def ask(address, method, path, body=None, headers=None):
    """Status, headers and document (or text) of one request."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        found = {k.lower(): v for k, v in response.getheaders()}
        return response.status, found, json.loads(text) if "json" in found.get("content-type", "") else text
    finally:
        connection.close()


def metric(name, **labels):
    """The sum of a metric over all series with these labels."""
    _, _, text = ask(ADMIN, "GET", "/metrics")
    total = 0.0
    for line in text.splitlines():
        match = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
        if match:
            found = dict(re.findall(r'(\w+)="([^"]*)"', match[1] or ""))
            if all(found.get(k) == v for k, v in labels.items()):
                total += float(match[2])
    return total


def eventually(condition, seconds=15):
    """Waits for the first true value of a condition."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "in vain for %d s: %s" % (seconds, condition)
        time.sleep(0.1)


@pytest.fixture
def rest():
    with th.InferenceServerClient(FLEET, network_timeout=30.0) as client:
        yield client


@pytest.fixture
def grpc():
    with tg.InferenceServerClient(FLEET) as client:
        yield client


def simple_inputs(module, first):
    a = np.full((1, 16), first, np.int32)
    b = np.arange(16, dtype=np.int32).reshape(1, 16)
    inputs = []
    for name, value in (("INPUT0", a), ("INPUT1", b)):
        tensor = module.InferInput(name, value.shape, "INT32")
        tensor.set_data_from_numpy(value)
        inputs.append(tensor)
    return inputs, a + b, a - b


def check_simple(result, added, subtracted):
    assert (result.as_numpy("OUTPUT0") == added).all() and (result.as_numpy("OUTPUT1") == subtracted).all()
