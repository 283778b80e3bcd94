"""Servers that hang, crash, answer nonsense, half a message or an endless one: each is reported, in bounded time and memory."""
import os
import resource
import subprocess
import sys

import pytest
from conftest import CONFORMANCE

from oip_conformance.double import Fault

CASES = ("--only", "datatypes.json.FP32", "datatypes.binary.FP32", "datatypes.grpc-raw.FP32", "streaming.grpc.all-in-order",
         "health.rest.status", "health.grpc.live")
INFERENCES = {"datatypes.json.FP32", "datatypes.binary.FP32", "datatypes.grpc-raw.FP32", "streaming.grpc.all-in-order"}


@pytest.mark.parametrize("kind", ["error", "hang", "close", "half", "nonsense", "html", "drip", "flood"])
def test_fault_ofInferences_isReported_andHealthPasses(double, against, kind):
    double.faults.put(None, Fault(kind=kind))
    run = against(*CASES, "--timeout", "6")
    assert run.status == 1, run.text
    failed = run.failed("")
    assert set(failed) == INFERENCES, run.text
    assert all(failed.values()), "each failure has a reason"
    assert max(map(len, failed.values())) < 2100
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert kilobytes < 1 << 20, f"the suite took {kilobytes} KiB, expected less than 1 GiB"


@pytest.mark.parametrize("kind", ["hang", "close", "nonsense", "drip"])
def test_fault_ofAllCalls_isUnreachable(double, against, kind):
    double.faults.put(None, Fault(kind=kind, calls="all"))
    run = against(*CASES, "--timeout", "1")
    assert run.status == 3, run.text
    assert "nothing answers at " + double.rest in run.text


def test_hang_ofMoreCasesThanTime_failsTheRest(double, against):
    double.faults.put(None, Fault(kind="hang"))
    run = against("--timeout", "6", "--time-limit", "2", "--profile", "core")
    assert run.status == 1
    assert any("(--time-limit) were over" in reason for reason in run.failed("").values())
    assert len(run.cases) > 300


def test_crash_failsTheRestAtOnce(suite):
    """A process that ends in the middle of the run."""
    environment = {**os.environ, "PYTHONPATH": CONFORMANCE, "PYTHONDONTWRITEBYTECODE": "1"}
    program = "from oip_conformance.double.cli import main; raise SystemExit(main())"
    with subprocess.Popen([sys.executable, "-c", program, "--suite", "--http", "0", "--grpc", "0", "--fault", '{"kind": "crash"}'],
                          stdout=subprocess.PIPE, text=True, env=environment) as server:
        _, rest, _, grpc = server.stdout.readline().split()
        run = suite(rest, "--grpc", grpc, "--models", "double", "--chapter", "health", "datatypes", "--timeout", "20")
        assert server.wait() == 70
    assert run.status == 1
    reasons = run.failed("datatypes.")
    assert len(reasons) > 50
    assert sum("the endpoint answers nothing since case" in reason for reason in reasons.values()) > len(reasons) - 5


@pytest.mark.parametrize("drift", ["name", "datatype", "shape", "missing", "extra", "metadata"])
def test_drift_isReported(double, against, drift):
    double.faults.put(None, Fault(drift=drift))
    run = against("--chapter", "models", "--timeout", "60")
    assert run.status == 1
    assert {"models.answer.json", "models.binary.binary", "models.grpc.grpc-raw"} <= set(run.failed("")), run.text


def test_failures_ofSomeCalls_areReported_asOften(double, against):
    double.faults.put("identity_int8", Fault(kind="error", status=503, message="out of order", count=2))
    run = against("--only", "datatypes.json.INT8", "datatypes.binary.INT8", "datatypes.grpc-raw.INT8", "--timeout", "60")
    assert len(run.failed("")) == 2
    assert all("out of order" in reason for reason in run.failed("").values())
