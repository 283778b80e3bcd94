"""Servers whose bytes no library sends: each broken answer is reported, and the cases after it run, in bounded time and memory."""
import itertools
import re
import resource
import socket
import struct
import threading
from contextlib import contextmanager

import pytest

from oip_conformance.http2 import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, block, frame

PING, GOAWAY, CONTINUATION, RESET = 6, 7, 9, 3
MODELS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp32", "fp64", "bytes")
ENDLESS = 256 << 20  # bytes after which an endless answer ends, should the suite read that far


def endless(connection, begin, part):
    connection.sendall(begin)
    for _ in range(ENDLESS // len(part)):
        connection.sendall(part)


def ok(*lines):
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: application/json", *lines, "", ""]).encode()


# What is sent instead of an answer over HTTP/1.1, by kind; then the connection ends. None: nothing, until the suite gives up.
REST = {
    "nothing": None,
    "closed": lambda connection: None,
    "reset": lambda connection: connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
    "no HTTP": lambda connection: connection.sendall(bytes(range(256)) * 4),
    "half a status line": lambda connection: connection.sendall(b"HTTP/1.1 2"),
    "half a header": lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "half a body": lambda connection: connection.sendall(ok("Content-Length: 1000") + b'{"outputs":[{"na'),
    "half a chunk": lambda connection: connection.sendall(ok("Transfer-Encoding: chunked") + b'fff\r\n{"outputs'),
    "a chunk of no size": lambda connection: connection.sendall(ok("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n"),
    "a negative length": lambda connection: connection.sendall(ok("Content-Length: -5") + b"{}"),
    "an endless header": lambda connection: endless(connection, b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536),
    "endless interim answers": lambda connection: endless(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1024),
}


def message(length, content):
    """The beginning of a gRPC message that announces this length."""
    return b"\0" + struct.pack(">I", length) + content


def head(stream, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block([(":status", "200"), ("content-type", "application/grpc")]))


def trailers(stream, status="0"):
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, block([("grpc-status", status)]))


def data(stream, content, flags=0):
    return frame(DATA, flags, stream, content)


# What is sent on a stream instead of an answer over gRPC, by kind, and whether the connection then ends.
GRPC = {
    "nothing": (lambda stream: b"", False),
    "the end": (lambda stream: b"", True),
    "half a frame": (lambda stream: head(stream) + data(stream, message(100, b"x" * 50))[:20], True),
    "half a message": (lambda stream: head(stream) + data(stream, message(100, b"x" * 10)), True),
    "half a message and a status": (lambda stream: head(stream) + data(stream, message(100, b"x" * 10)) + trailers(stream), False),
    "a message and no status": (lambda stream: head(stream) + data(stream, message(0, b""), END_STREAM), False),
    "a message of 4 GiB": (lambda stream: head(stream) + data(stream, message((1 << 32) - 1, b"x" * 10)), False),
    "an unknown compression": (lambda stream: head(stream) + data(stream, b"\7" + message(1, b"x")[1:]) + trailers(stream), False),
    "an unknown status": (lambda stream: head(stream) + trailers(stream, "no-number"), False),
    "a page": (lambda stream: frame(HEADERS, END_HEADERS, stream, block([(":status", "502"), ("content-type", "text/html")]))
               + data(stream, b"<html>Bad Gateway</html>", END_STREAM), False),
    "a reset": (lambda stream: frame(RESET, 0, stream, struct.pack(">I", 2)), False),
    "headers without end": (lambda stream: head(stream, 0) + frame(CONTINUATION, 0, stream, block([("x", "y" * 16000)])) * 8, True),
}
# What a server that does not speak HTTP/2 sends to a client of gRPC.
NO_GRPC = {"nothing": None, "the end": b"", "no HTTP/2": bytes(range(256)) * 4, "HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
           "half a SETTINGS": frame(SETTINGS, 0, 0, bytes(60))[:20], "a shutdown": frame(SETTINGS, 0, 0) + frame(GOAWAY, 0, 0, bytes(8))}


@contextmanager
def listening(serve):
    """The address of a server that calls serve(connection, stopped) for each connection, which it then closes."""
    stopped, threads = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        def one(connection):
            with connection:
                try:
                    serve(connection, stopped)
                except OSError:
                    pass  # the suite has given up

        def accept():
            while not stopped.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.settimeout(60)
                threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            stopped.set()
            server.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


def until_the_client_ends(connection, stopped):
    connection.settimeout(0.2)
    while not stopped.is_set():
        try:
            if not connection.recv(65536):
                return
        except TimeoutError:
            pass


def serve_rest(connection, stopped):
    """Health is good, inferences of each model are broken in a way of their own."""
    received = connection.makefile("rb")
    request, length = received.readline().decode(), 0
    while (line := received.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    received.read(length)
    model = re.search(r"/v2/models/identity_(\w+)/infer", request)
    if model is None:
        connection.sendall(ok("Content-Length: 2", "Connection: close") + b"{}")
        return
    broken = list(REST.values())[MODELS.index(model[1])]
    (broken or until_the_client_ends)(*((connection,) if broken else (connection, stopped)))


def serve_grpc(connection, _stopped):
    """Inferences of each model are broken in a way of their own."""
    received = connection.makefile("rb")
    assert received.read(len(PREFACE)) == PREFACE
    connection.sendall(frame(SETTINGS, 0, 0))
    while len(begin := received.read(9)) == 9:
        content, kind, flags, stream = received.read(int.from_bytes(begin[:3])), begin[3], begin[4], int.from_bytes(begin[5:])
        if kind in (SETTINGS, PING) and not flags & ACK:
            connection.sendall(frame(kind, ACK, 0, content if kind == PING else b""))
        model = re.search(rb"identity_(bool|u?int\d+|fp\d+|bytes)", content) if kind == DATA else None
        if model:
            answer, ends = list(GRPC.values())[MODELS.index(model[1].decode())]
            connection.sendall(answer(stream))
            if ends:
                return


def assert_reported(run, prefix, kinds):
    """A case for each kind has failed with a reason, and nothing else has."""
    failed = run.failed("")
    assert run.status == 1 and set(failed) == {prefix + model.upper() for model in MODELS}, run.text
    assert len(kinds) == len(MODELS)
    assert all(0 < len(reason) < 2100 and not reason.startswith("not run") for reason in failed.values()), failed
    assert run.cases["health.rest.status.live"]["state"] == "passed"
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert kilobytes < 1 << 20, f"the suite took {kilobytes} KiB, expected less than 1 GiB"


def cases(form):
    return [f"datatypes.{form}.{model.upper()}" for model in MODELS]


def test_answersOverRest_broken_areReported(suite):
    with listening(serve_rest) as rest:
        run = suite(rest, "--models", "double", "--timeout", "6", "--only", *cases("json"), "health.rest.status.live")
    assert_reported(run, "datatypes.json.", REST)


def test_answersOverGrpc_broken_areReported(suite, double):
    with listening(serve_grpc) as grpc:
        run = suite(double.rest, "--grpc", grpc, "--models", "double", "--timeout", "6", "--only", *cases("grpc-raw"), "health.rest.status.live")
    assert_reported(run, "datatypes.grpc-raw.", GRPC)


@pytest.mark.parametrize("kind", NO_GRPC)
def test_serverWithoutGrpc_isReported(suite, double, kind):
    def serve(connection, stopped):
        if NO_GRPC[kind] is None:
            until_the_client_ends(connection, stopped)
        else:
            connection.sendall(NO_GRPC[kind])

    with listening(serve) as grpc:
        run = suite(double.rest, "--grpc", grpc, "--models", "double", "--timeout", "6", "--only", "datatypes.grpc-raw.FP32", "health.rest.status.live")
    assert run.status == 1, run.text
    assert set(run.failed("")) == {"datatypes.grpc-raw.FP32"} and run.cases["health.rest.status.live"]["state"] == "passed", run.text


def test_serverOfGrpcAlone_thatCrashes_failsTheRestAtOnce(suite):
    """It answers for a while, and then accepts no connection any more."""
    lives = itertools.count()

    def serve(connection, _stopped):
        if next(lives) > 0:
            return
        received = connection.makefile("rb")
        received.read(len(PREFACE))
        connection.sendall(frame(SETTINGS, 0, 0))
        while len(begin := received.read(9)) == 9:
            content, kind, flags, stream = received.read(int.from_bytes(begin[:3])), begin[3], begin[4], int.from_bytes(begin[5:])
            if kind in (SETTINGS, PING) and not flags & ACK:
                connection.sendall(frame(kind, ACK, 0, content if kind == PING else b""))
            elif kind == DATA and b"identity_" in content:
                return
            elif kind == DATA:
                connection.sendall(head(stream) + data(stream, message(2, b"\x08\x01")) + trailers(stream))

    with listening(serve) as grpc:
        run = suite("--grpc", grpc, "--models", "double", "--chapter", "datatypes", "--timeout", "6", "--restart", "2")
    assert run.status == 1, run.text
    reasons = run.failed("datatypes.").values()
    assert sum("the endpoint answers nothing since case" in reason for reason in reasons) > 20, run.text


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", bytes(range(256))])
@pytest.mark.parametrize("wire", ["rest", "grpc"])
def test_handshakeOfTls_thatFails_isTold(suite, wire, answer):
    def serve(connection, stopped):
        if answer is None:
            until_the_client_ends(connection, stopped)
        else:
            connection.recv(65536)
            connection.sendall(answer)

    with listening(serve) as address:
        at = [f"https://{address}"] if wire == "rest" else ["--grpc", f"https://{address}"]
        run = suite(*at, "--insecure", "--timeout", "2")
    assert run.status == 3 and f"no connection with TLS to {address}: " in run.text, run.text
