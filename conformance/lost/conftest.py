"""Fixtures: two gateways, one with gRPC and one with REST upstreams (LostServerTest has their configuration).

ISTHMUS_GRPC, ISTHMUS_REST                host:port of the gateways
ISTHMUS_GRPC_ADMIN, ISTHMUS_REST_ADMIN    of their admin listeners
TRITON_PORTS, MLSERVER_PORTS              where the servers listen, which are started here: HTTP,GRPC,METRICS
ISTHMUS_FOLDER                            takes their models and logs
"""
import os
import pathlib
import signal
import subprocess

import pytest

START = pathlib.Path(__file__).parent.parent / "start.sh"
FOLDER = pathlib.Path(os.environ["ISTHMUS_FOLDER"])


class Server:
    """A real server that can be killed and started again on the same ports."""

    def __init__(self, name):
        self.name = name
        self.process = None

    def start(self):
        ports = os.environ[self.name.upper() + "_PORTS"].split(",")
        named = zip(("HTTP_PORT", "GRPC_PORT", "METRICS_PORT"), ports)
        with open(FOLDER / (self.name + ".log"), "ab") as log:
            self.process = subprocess.Popen(
                [str(START), self.name], env={**os.environ, **dict(named), "REPO": str(FOLDER / self.name)},
                stdout=log, stderr=log, start_new_session=True)

    def kill(self):
        """Sends SIGKILL to the server and its workers."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@pytest.fixture(scope="session")
def servers():
    started = {name: Server(name) for name in ("triton", "mlserver")}
    try:
        for server in started.values():
            server.start()
        yield started
    finally:
        for server in started.values():
            server.kill()
