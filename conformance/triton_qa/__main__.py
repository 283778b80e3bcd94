"""Runs Triton's own test qa/L0_infer against a real Triton, directly and through Isthmus, and prints what each test came to."""
import argparse
import contextlib
import fnmatch
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from oip_conformance.against import Unreachable, gateway
from oip_conformance.client import Rest

from . import models
from .tests import FAILED, NOTHING_SENT, PASSED, SKIPPED

CONFORMANCE = Path(__file__).resolve().parent.parent
REST, GRPC, METRICS = 8000, 8001, 8002  # the ports that Triton's test expects
START = 300.0  # seconds in which Triton loads its models
EPILOG = """
Triton's sources are fetched once from its repository, at the commit in install.sh; TRITON_REPOSITORY names a clone on this machine if
that cannot be reached. The test finds its server by TRITONSERVER_IPADDR: Triton and the gateway have loopback addresses of their own,
with ports 8000 and 8001. The Triton that installs here has the python backend only, so the models that are named after ONNX add and
subtract in Python, with the configurations, versions and ensembles of Triton's generator. Tests that need TensorRT send nothing.
TEST_SYSTEM_SHARED_MEMORY=1 runs the tests with their tensors in shared memory, as Triton's test.sh does.

exit status: 0 no test that passes directly fails through Isthmus, 1 some do, or none passes directly, 2 usage, 3 something is missing
"""


def parser():
    made = argparse.ArgumentParser(prog="triton-qa", description=__doc__, epilog=EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--only", nargs="+", metavar="PATTERN", default=["*"], help="names of tests, such as 'test_*_fff'; default: all")
    made.add_argument("--protocol", nargs="+", choices=("grpc", "rest"), default=["grpc", "rest"],
                      help="in which the gateway calls Triton; default: both, one after the other")
    made.add_argument("--folder", metavar="FOLDER", type=Path, help="a new folder that keeps models, logs and outcomes")
    return made


def installed(*names):
    """The folders of install.sh's components. Unreachable if one cannot be installed; install.sh says why."""
    done = subprocess.run([CONFORMANCE / "install.sh", *names], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Unreachable("it cannot be installed; the reason is above")
    return [Path(line.split("=", 1)[1]) for line in done.stdout.splitlines()]


def free_address():
    """A loopback address with the ports that Triton's test expects."""
    for last in range(2, 255):
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in (REST, GRPC, METRICS):
                held.enter_context(socket.create_server((f"127.0.0.{last}", port)))
            return f"127.0.0.{last}"
    raise Unreachable(f"the ports {REST} to {METRICS} are taken on all of 127.0.0.2 to 127.0.0.254")


def last(log):
    """The last lines of a log."""
    return " / ".join(Path(log.name).read_text(errors="replace").splitlines()[-5:])


@contextlib.contextmanager
def triton(address, repository, log):
    """Runs Triton during the block, once it is ready."""
    ports = {"HTTP_PORT": REST, "GRPC_PORT": GRPC, "METRICS_PORT": METRICS}
    environment = {**os.environ, "ADDRESS": address, "REPO": str(repository), **{name: str(port) for name, port in ports.items()}}
    process = subprocess.Popen([CONFORMANCE / "start.sh", "triton"], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + START
        while not ready(f"{address}:{REST}"):
            if process.poll() is not None or time.monotonic() > end:
                raise Unreachable(f"Triton did not start: {last(log)}")
            time.sleep(0.5)
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=40)
        process.kill()
        process.wait()


def ready(address):
    with contextlib.suppress(AssertionError):
        return Rest(address, timeout=2.0).get("/v2/health/ready").status == 200
    return False


def configuration(address, protocol, server):
    port = GRPC if protocol == "grpc" else REST
    return json.dumps({"listeners": [{"host": address, "port": each, "management": "allow"} for each in (REST, GRPC)],
                       "health": {"warm_up": "0s"}, "default_upstream": "triton",
                       "upstreams": {"triton": {"protocol": protocol, "endpoints": [f"{server}:{port}"], "discover": True,
                                                "shared_memory": True}}})


def tested(qa, address, patterns, folder):
    """The outcomes of the tests with the server at this address, by name."""
    folder.mkdir()
    environment = {**os.environ, "TRITONSERVER_IPADDR": address, "TRITON_SERVER_CPU_ONLY": "1", "BACKENDS": "onnx",
                   "PYTHONPATH": os.pathsep.join(map(str, (CONFORMANCE, qa / "L0_infer", qa / "common")))}
    with (folder / "log").open("wb") as log:
        done = subprocess.run([sys.executable, "-m", "triton_qa.tests", folder / "outcomes.json", *patterns], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if done.returncode:
            raise Unreachable(f"the tests did not run: {last(log)}")
    return json.loads((folder / "outcomes.json").read_text())


def names_of(qa, patterns):
    """The names of the tests that match, from their source."""
    names = re.findall(r"def (test_\w+)\(", (qa / "L0_infer/infer_test.py").read_text())
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def worse(runs):
    """Tests that pass directly and not in another run."""
    direct, *others = runs.values()
    return [name for name, each in direct.items()
            if each["state"] == PASSED and any(name not in other or other[name]["state"] != PASSED for other in others)]


def table(runs):
    """A line for each test with its state in each run, the reasons of failures, and the totals."""
    names = list(dict.fromkeys(name for run in runs.values() for name in run))
    wide = max(map(len, names), default=0)
    lines = [f"{'':{wide}}  " + "".join(f"{run:20}" for run in runs)]
    for name in names:
        found = {run: each.get(name, {"state": "missing", "reason": ""}) for run, each in runs.items()}
        lines.append(f"{name:{wide}}  " + "".join(f"{each['state']:20}" for each in found.values()))
        lines += [f"    {run}: {each['reason']}" for run, each in found.items() if each["reason"]]
    for run, outcomes in runs.items():
        count = Counter(each["state"] for each in outcomes.values())
        states = ", ".join(f"{count[state]} {state}" for state in (PASSED, FAILED, SKIPPED, NOTHING_SENT) if count[state])
        lines.append(f"{run}: {states or 'no test'}; {sum(each['inferences'] for each in outcomes.values())} calls of infer_exact")
    return "\n".join(line.rstrip() for line in lines)


def main(arguments):
    given = parser().parse_args(arguments)
    if given.folder and given.folder.exists():
        parser().error(f"{given.folder} is there already")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    qa, onnx, _ = installed("triton-qa", "onnxruntime", "triton")
    qa /= "qa"
    with contextlib.ExitStack() as ending:
        folder = given.folder or Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="triton-qa-")))
        (folder / "models").mkdir(parents=True)
        log = ending.enter_context((folder / "log").open("wb"))
        names = names_of(qa, given.only)
        models.generate(qa, onnx / "bin/python", folder / "models", log, names)
        server = free_address()
        ending.enter_context(triton(server, folder / "models", log))
        runs = {"direct": tested(qa, server, given.only, folder / "direct")}
        for protocol in given.protocol:
            address = free_address()
            with gateway(str(CONFORMANCE.parent / "isthmus"), f"{address}:{REST}", configuration(address, protocol, server)):
                runs[f"Isthmus, {protocol}"] = tested(qa, address, given.only, folder / protocol)
    print(table(runs))
    failed = worse(runs)
    passed = any(each["state"] == PASSED for each in runs["direct"].values())
    print(f"through Isthmus fail: {', '.join(failed)}" if failed else "what passes directly passes through Isthmus" if passed else
          "no test passes directly")
    return int(bool(failed) or not passed)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unreachable as failure:
        print(f"triton-qa: {failure}", file=sys.stderr)
        sys.exit(3)
