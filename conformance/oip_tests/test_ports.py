"""Ports that are chosen before the process that listens on them starts."""
import socket
import subprocess
import sys

from conftest import CONFORMANCE

from oip_conformance import ports


def test_freePorts_areNoneThatLinuxGives_andNoneTwice(monkeypatch):
    monkeypatch.setattr(ports, "given", set())
    given = [ports.free_port() for _ in range(200)]
    assert len(set(given)) == 200
    assert all(ports.FIRST <= port < ports.FIRST_OF_LINUX for port in given)


def test_portThatIsTaken_isNotFree(monkeypatch):
    first, second = ports.free_port(), ports.free_port()
    monkeypatch.setattr(ports, "given", set())
    chosen = iter((first, first, second))
    monkeypatch.setattr(ports.random, "randrange", lambda *_: next(chosen))
    with socket.create_server(("127.0.0.1", first)):
        assert ports.free_port() == second


def test_program_printsSoMany():
    run = subprocess.run([sys.executable, f"{CONFORMANCE}/oip_conformance/ports.py", "3"], capture_output=True, text=True, check=True)
    assert len({int(port) for port in run.stdout.split()}) == 3
