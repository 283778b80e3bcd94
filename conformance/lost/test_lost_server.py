"""The last server of a model is killed and restarted; the official clients send requests over both protocols."""
import http.client
import os
import time

import pytest
import tritonclient.grpc as tg
import tritonclient.http as th

GATEWAYS = ("ISTHMUS_GRPC", "ISTHMUS_REST")
STARTED_WITHIN = 180
SEEN_WITHIN = 30
# Routed by name, by pattern and by discovery; by name and by default_upstream.
MODELS = {"triton": ("simple", "simple_sequence", "identity_fp32"), "mlserver": ("iris", "identity")}
NAMED = {"triton": "simple", "mlserver": "iris"}


def metric(gateway, model):
    connection = http.client.HTTPConnection(os.environ[gateway + "_ADMIN"], timeout=30)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    finally:
        connection.close()
    return float(next(l for l in lines if l.startswith('isthmus_model_ready{model="%s"}' % model)).split()[-1])


def seen(gateway, name):
    """The reported readiness of a server's models: over REST, over gRPC, and in the metric."""
    address = os.environ[gateway]
    with th.InferenceServerClient(address, network_timeout=30.0) as rest, tg.InferenceServerClient(address) as grpc:
        said = [client.is_model_ready(model) for client in (rest, grpc) for model in MODELS[name]]
        return said + [metric(gateway, NAMED[name]) == 1.0]


def server_ready(gateway):
    address = os.environ[gateway]
    with th.InferenceServerClient(address, network_timeout=30.0) as rest, tg.InferenceServerClient(address) as grpc:
        return [rest.is_server_ready(), grpc.is_server_ready()]


def eventually(expected, ask, seconds):
    """Waits until all reports are as expected; a client's exception counts as a report."""
    end = time.monotonic() + seconds
    while True:
        try:
            said = ask()
        except Exception as failure:  # the official clients' exceptions have no common base class
            said = [failure]
        if all(one is expected for one in said):
            return
        assert time.monotonic() < end, "in vain for %d s: %s" % (seconds, said)
        time.sleep(0.2)


@pytest.mark.parametrize("name", MODELS)
def test_last_server_is_killed_and_started_again(servers, name):
    other = "mlserver" if name == "triton" else "triton"
    for gateway in GATEWAYS:
        for each in (name, other):
            eventually(True, lambda: seen(gateway, each), STARTED_WITHIN)
        eventually(True, lambda: server_ready(gateway), SEEN_WITHIN)

    servers[name].kill()
    for gateway in GATEWAYS:
        eventually(False, lambda: seen(gateway, name), SEEN_WITHIN)
        eventually(False, lambda: server_ready(gateway), SEEN_WITHIN)
        eventually(True, lambda: seen(gateway, other), SEEN_WITHIN)

    servers[name].start()
    for gateway in GATEWAYS:
        eventually(True, lambda: seen(gateway, name), STARTED_WITHIN)
        eventually(True, lambda: server_ready(gateway), SEEN_WITHIN)
