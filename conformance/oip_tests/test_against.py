"""oip-conformance against: doubles are the server, and the gateway in front of it."""
import contextlib
import json
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CONFORMANCE

from oip_conformance import against_cases
from oip_conformance.against import (DIFFERS, DOCUMENTED, IDENTICAL, NOT_APPLICABLE, NOT_RUN, Compared, Side, answered, choose,
                                     compare, differing, table, usable)
from oip_conformance.against_documented import Pair, reasons
from oip_conformance.client import Rest
from oip_conformance.double import Double, Fault

MODEL = {"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
         "outputs": [{"name": "y", "datatype": "INT64", "shape": [-1]}]}


@pytest.fixture
def server():
    with Double([MODEL]) as started:
        yield started


def command(tmp_path, text):
    """A Python program in the place of the gateway's command."""
    path = tmp_path / "isthmus"
    path.write_text(f"#!{sys.executable}\nimport json, signal, sys, time\nsys.path.insert(0, {CONFORMANCE!r})\n{text}\n")
    path.chmod(0o755)
    return str(path)


def states(run):
    return {id: case["state"] for id, case in run.cases.items()}


def test_sameAnswers_areIdentical(suite, server):
    run = suite("against", server.rest, "--through", server.rest)
    assert run.status == 0, run.text
    found = states(run)
    assert {state for id, state in found.items() if id.startswith("rest.")} <= {IDENTICAL, NOT_APPLICABLE}, run.text
    assert sum(state == IDENTICAL for state in found.values()) > 40
    assert found["grpc.infer.raw"] == found["rest.infer.classification"] == NOT_APPLICABLE


def test_otherAnswers_differ_withBothSides(suite, server):
    with Double([{**MODEL, "double": {"values": {"y": [7]}}}]) as other:
        run = suite("against", server.rest, "--through", other.rest, "--model", "m")
    assert run.status == 1
    assert "\n    direct   status 200, body.outputs[].data[] 0\n    Isthmus  status 200, body.outputs[].data[] 7\n" in run.text
    case = run.cases["rest.infer.plain"]
    assert case["state"] == DIFFERS
    assert case["direct"] == {"status": 200, "body.outputs[].data[]": 0}
    assert states(run)["rest.refused.no-shape"] == IDENTICAL


def test_tensors_thatDiffer_failTheRun_overBothWires(suite, server):
    with Double([{**MODEL, "double": {"values": {"y": [7]}}}]) as other:
        run = suite("against", server.rest, "--grpc", server.grpc, "--through", other.rest, "--model", "m")
    assert run.status == 3 and "no gRPC answers" in run.text  # the double has a port for each wire
    for case in ("rest.infer.plain", "rest.infer.binary-output"):
        direct, through = ({"status": 200, "body": {"outputs": [{"data": [value]}]}} for value in (0, 7))
        assert reasons(Pair(case, direct, through, False), {"body.outputs[0].data[0]": (0, 7)}) == []
    raw = {"messages[0].rawOutputContents[0]": ("AA==", "BA==")}
    ok = {"status": "OK", "messages": []}
    assert reasons(Pair("grpc.infer.raw", ok, ok, False), raw) == [] != reasons(Pair("grpc.infer.raw", ok, ok, True), raw)


def test_documentedDifferences_alone_areNoFailure(suite, server):
    with Double([MODEL]) as other:
        other._state.metadata = lambda: {"name": "isthmus", "version": "1", "extensions": []}
        run = suite("against", server.rest, "--through", other.rest)
    assert run.status == 0 and "documented      rest.get.server-metadata: the server's metadata are the gateway's" in run.text, run.text
    assert states(run)["rest.get.server-metadata"] == DOCUMENTED


REFUSAL, ANSWER = {"status": 500, "body": "it failed"}, {"status": 200, "body": {"outputs": [{"name": "y", "data": [0]}]}}


@pytest.mark.parametrize("case, direct, through, same, documented", [
    ("rest.refused.no-shape", REFUSAL, {"status": 400, "body": {"error": "shape is missing"}}, None, True),
    ("rest.refused.no-shape", ANSWER, {"status": 400, "body": {"error": "shape is missing"}}, None, True),
    ("rest.refused.no-shape", {"status": 400}, {"status": 500}, None, False), ("rest.refused.no-shape", REFUSAL, ANSWER, None, False),
    ("rest.refused.other-rank", REFUSAL, {"status": 500, "body": {"error": "it failed"}}, None, True),
    ("rest.refused.no-shape", {"status": "broken"}, {"status": "broken", "reason": "timed out"}, None, False),
    ("rest.refused.unknown-version", {"status": 501, "body": {"error": "Model versioning not supported yet."}}, ANSWER, None, True),
    ("rest.refused.unknown-version", {"status": 404, "body": {"error": "unknown"}}, ANSWER, None, False),
    ("grpc.stream.unknown-model", {"messages": [{"errorMessage": "unknown"}]}, {"messages": [{"errorMessage": "it failed"}]}, None, True),
    ("grpc.stream.infer", {"messages": [{}]}, {"messages": [{"errorMessage": "it failed"}]}, None, False),
    ("rest.refused.unknown-output", REFUSAL, ANSWER, None, True),
    ("rest.infer.plain", {**ANSWER, "encoding": "gzip"}, ANSWER, True, True),
    ("rest.infer.accept-gzip", {**ANSWER, "encoding": "gzip"}, ANSWER, None, True),
    ("rest.infer.binary", {**ANSWER, "body": {"parameters": {"binary_data_output": True}}}, {**ANSWER, "body": {}}, None, True),
    ("rest.infer.parameters", {**ANSWER, "body": {"parameters": {"a": True}}}, {**ANSWER, "body": {}}, None, False),
    ("grpc.get.index", {"status": "OK", "messages": [{"models": [{"state": "State.READY"}]}]},
     {"status": "OK", "messages": [{"models": [{"state": "READY"}]}]}, None, True),
    ("rest.infer.plain", ANSWER, {"status": 400, "body": {"error": "no"}}, None, False),
    ("rest.infer.plain", ANSWER, {"status": "broken"}, None, False), ("rest.infer.binary", REFUSAL, ANSWER, None, True),
    ("rest.infer.plain", {**ANSWER, "body": {"id": "<uuid>"}}, {**ANSWER, "body": {}}, None, True),
    ("rest.infer.id", {**ANSWER, "body": {"id": "an id"}}, {**ANSWER, "body": {}}, None, False),
    ("rest.infer.plain", ANSWER, {**ANSWER, "body": {"outputs": [{"name": "y", "data": [0.0]}]}}, True, True),
    ("rest.infer.plain", ANSWER, {**ANSWER, "body": {"outputs": [{"name": "z", "data": [0]}]}}, False, False),
    ("rest.get.live", {"status": 200, "body": ""}, {"status": 200, "body": {"live": True}}, None, True),
    ("rest.get.live", {"status": 200, "body": ""}, {"status": 503, "body": {"error": "no"}}, None, False),
    ("rest.get.model-metadata", {"status": 200, "body": {"name": "m"}}, {"status": 200, "body": {"name": "n"}}, None, False),
    ("rest.infer.header-fields", {"fields": ["a"]}, {"fields": ["x-request-id"]}, None, True),
    ("rest.infer.header-fields", {"fields": ["a"]}, {"fields": ["a", "x-other"]}, None, False)])
def test_difference_isDocumented_orNot(case, direct, through, same, documented):
    assert bool(reasons(Pair(case, direct, through, same), differing(direct, through))) == documented


def test_answersThatVary_areNoDifference(suite, server):
    server.faults.put("m", Fault(kind="error", rate=0.5))
    run = suite("against", server.rest, "--through", server.rest, "--model", "m")
    varied = [case for case in run.cases.values() if "vary on the server" in case["reason"]]
    assert varied and all(case["state"] == IDENTICAL for case in varied), run.text


def test_cases_changeNothing(server, monkeypatch):
    sent, call, ask = set(), Rest.call, against_cases.ask
    monkeypatch.setattr(Rest, "call", lambda self, method, path, *more: sent.add(path) or call(self, method, path, *more))
    monkeypatch.setattr(against_cases, "ask", lambda t, method, request: sent.add(method) or ask(t, method, request))
    side = Side(server.rest, server.grpc, 10.0, {}, 0)
    side.chosen, side.extensions = choose(side, None), ["classification"]
    for case in [*against_cases.REST.cases, *against_cases.GRPC.cases]:
        answered(case, side)
    models = {f"/v2/models/{name}{path}" for name in ("m", against_cases.UNKNOWN) for path in ("", "/ready", "/infer")}
    assert sent == models | {
        "/v2", "/v2/health/live", "/v2/health/live/", "/v2/health/ready", "/v2/models/m/config", "/v2/no/such/path", "/v2/repository/index",
        *(f"/v2/models/m/versions/{path}" for path in ("1", "987654321", "987654321/infer")), "ServerLive", "ServerReady", "ModelReady",
        "ServerMetadata", "ModelMetadata", "ModelConfig", "RepositoryIndex", "ModelInfer", "ModelStreamInfer"}


def test_gateway_isStarted_inFrontOfTheServer_andEnded(suite, server, tmp_path):
    log = tmp_path / "configuration.json"
    gateway = command(tmp_path, f"""
from oip_conformance.client import Rest
from oip_conformance.double import Double
text = open(sys.argv[3]).read()
listener, = json.loads(text)["listeners"]
signal.signal(signal.SIGTERM, lambda *_: (open({str(log)!r}, "w").write(text), sys.exit()))
with Double([{MODEL!r}], http_port=listener["port"]):
    time.sleep(600)
""")
    run = suite("against", server.rest, "--isthmus", gateway)
    assert run.status == 0, run.text
    assert json.loads(log.read_text())["upstreams"]["server"] == {"protocol": "rest", "endpoints": [server.rest], "discover": True}


def test_gateway_thatEnds_isTold(suite, server, tmp_path):
    run = suite("against", server.rest, "--isthmus", command(tmp_path, "sys.exit('the port is taken')"))
    assert run.status == 3 and "isthmus did not start: the port is taken" in run.text and "Traceback" not in run.text


def test_timeLimit_leavesCasesNotRun(suite, server):
    run = suite("against", server.rest, "--through", server.rest, "--time-limit", "0.001")
    assert run.status == 1 and set(states(run).values()) <= {NOT_RUN, IDENTICAL} and NOT_RUN in states(run).values()


def test_serverThatHangs_isBroken_notWaitedFor(server):
    case = next(case for case in against_cases.REST.cases if case.id == "rest.infer.plain")
    with Double([{**MODEL, "double": {"fault": {"kind": "hang"}}}]) as other:
        direct, through = Side(server.rest, None, 60.0, {}, 0), Side(other.rest, None, 0.2, {}, 0)
        direct.chosen = through.chosen = choose(direct, "m")
        outcome = compare(case, direct, through)
    assert outcome.state == DIFFERS and outcome.through["status"] == "broken", outcome


def test_serverOverTls_withAnIssuerOfItsOwn(suite, server, tmp_path):
    certificate, key, log = (str(tmp_path / name) for name in ("ca.crt", "ca.key", "configuration.json"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    gateway = command(tmp_path, f"""
from oip_conformance.double import Double
text = open(sys.argv[3]).read()
signal.signal(signal.SIGTERM, lambda *_: (open({log!r}, "w").write(text), sys.exit()))
with Double([{MODEL!r}], http_port=json.loads(text)["listeners"][0]["port"]):
    time.sleep(600)
""")
    with over_tls(server.rest, certificate, key) as port:
        run = suite("against", f"https://localhost:{port}", "--isthmus", gateway, "--ca", certificate)
        assert run.status == 0, run.text
        assert json.loads(Path(log).read_text())["upstreams"]["server"]["tls"] == {"ca": certificate}
        unknown = suite("against", f"https://localhost:{port}", "--isthmus", gateway)
    assert unknown.status == 3 and "certificate verify failed" in unknown.text, unknown.text


@contextlib.contextmanager
def over_tls(address, certificate, key):
    """The port of a server that takes TLS and passes what is inside on to this address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    host, port = address.split(":")

    class Passing(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError), context.wrap_socket(self.request, server_side=True) as client, \
                    socket.create_connection((host, int(port))) as behind:
                sending = threading.Thread(target=pump, args=(behind, client))
                sending.start()
                pump(client, behind)
                sending.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passing) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield listening.server_address[1]
        listening.shutdown()


def pump(source, target):
    """Passes on what comes until it ends, and its end."""
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


REQUEST = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [[1, 2, 3, 4.5]]}]}


def test_request_ofAFile_isSent_toAModelWithoutDeclaredInputs(suite, server, tmp_path):
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    server._state.model_metadata = lambda name: {"name": name, "inputs": [], "outputs": []}
    run = suite("against", server.rest, "--through", server.rest, "--model", "m", "--request", str(file))
    assert run.status == 0 and states(run)["rest.infer.plain"] == IDENTICAL, run.text
    assert states(run)["rest.infer.one-output"] == IDENTICAL


@pytest.mark.parametrize("text, message", [
    (None, "no JSON inference request"), ("{", "no JSON inference request"), ("[]", "no JSON inference request"),
    ('{"inputs": [{"name": "x"}]}', "no JSON inference request"), ('{"inputs": []}', "does not infer"),
    (json.dumps(REQUEST).replace("FP32", "FP99"), "no JSON inference request"),
    (json.dumps(REQUEST).replace("[1, 4]", "[1, 5]"), "does not infer")])
def test_request_ofAFile_thatIsNone_isUsage(suite, server, tmp_path, text, message):
    file = tmp_path / "request.json"
    if text:
        file.write_text(text)
    run = suite("against", server.rest, "--through", server.rest, "--model", "m", "--request", str(file))
    assert run.status == 2 and message in run.text and "Traceback" not in run.text, run.text


@pytest.mark.parametrize("arguments", [
    [], ["ftp://127.0.0.1:1"], ["127.0.0.1:1", "--through", "127.0.0.1"], ["127.0.0.1:1", "--isthmus", "/no/such/command"],
    ["127.0.0.1:1", "--protocol", "grpc"], ["127.0.0.1:1", "--protocol", "rest", "--through", "127.0.0.1:2"],
    ["127.0.0.1:1", "--timeout", "0"]])
def test_usage_wrong_isTold(suite, arguments):
    run = suite("against", *arguments)
    assert run.status == 2 and "oip-conformance" in run.text and "Traceback" not in run.text


def test_model_thatTheServerLacks_isUsage(suite, server):
    run = suite("against", server.rest, "--through", server.rest, "--model", "none")
    assert run.status == 2 and "no model 'none'" in run.text


@pytest.mark.parametrize("through", [[], ["--through", "127.0.0.1:9"]])
def test_address_whereNothingListens_isUnreachable(suite, server, through):
    address = server.rest if through else "127.0.0.1:9"
    run = suite("against", address, "--isthmus", sys.executable, *through)
    assert run.status == 3 and "nothing answers at 127.0.0.1:9" in run.text


@pytest.mark.parametrize("metadata", [
    None, {}, {"name": "m"}, {**MODEL, "inputs": []}, {**MODEL, "outputs": []}, {**MODEL, "inputs": [{"name": "x", "shape": [1]}]},
    {**MODEL, "inputs": [{"name": "x", "datatype": "FP99", "shape": [1]}]},
    {**MODEL, "inputs": [{"name": "x", "datatype": "FP32", "shape": None}]},
    {**MODEL, "inputs": [{"name": "x", "datatype": "FP32", "shape": [2**40]}]}])
def test_model_ofWhichNoRequestIsMade_isLeftOut(metadata):
    assert usable(MODEL) and not usable(metadata)


def test_model_isTheSmallestThatTakesZeros():
    large, refuses = ({**MODEL, "name": name, "inputs": [{**MODEL["inputs"][0], "shape": shape}]}
                      for name, shape in (("large", [-1, 5]), ("refuses", [-1, 1])))
    with Double([large, {**refuses, "double": {"fault": {"kind": "error"}}}, MODEL]) as double:
        assert choose(Side(double.rest, None, 10.0, {}, 0), None).name == "m"


@pytest.mark.parametrize("one, other, expected", [
    ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, {}), ({"a": 1}, {"a": 1.0}, {"a": (1, 1.0)}), ({"a": None}, {}, {}),
    ({"a": [1, 2]}, {"a": [1, 3]}, {"a[1]": (2, 3)}), ({"a": [1]}, {"a": []}, {"a": ([1], [])}),
    ({"a": float("nan")}, {"a": float("nan")}, {}), ({"a": {"b": 1}}, {"a": "x"}, {"a": ({"b": 1}, "x")})])
def test_differences_ofValues(one, other, expected):
    assert differing(one, other) == expected


def test_table_showsAlikeTogether_andOneLineForEachSide():
    long = Compared("a", DIFFERS, "", {"status": 200, "body": "x\n" * 200}, {"status": 404})
    text = table([long, replace(long, id="b"), Compared("c", IDENTICAL), Compared("d", NOT_APPLICABLE, "no extension")])
    assert text.splitlines()[:3] == ["identical       c", "not applicable  d: no extension", "differs         a, b"]
    assert len(text.splitlines()) == 6 and max(map(len, text.splitlines())) < 180
