"""Runs the conformance suite against the real servers, each alone and behind Isthmus, and writes RESULTS.md.

Builds Isthmus if needed, and runs for some minutes. A server that does not start, or a run that fails, ends the command with
status 1, and RESULTS.md stays as it was.
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from oip_conformance.client import Grpc, pb
from oip_conformance.models import FLEETS
from oip_conformance.ports import free_port

HERE = Path(__file__).parent
RELEASES = {"triton": "Triton 2.51.0 (24.10)", "mlserver": "MLServer 1.7.1", "kserve": "KServe 0.21.0",
            "aissemble": "aiSSEMBLE 1.1.0", "omle": "omle-server 0.2.1", "dynamo": "Dynamo 1.6.1",
            "local": "ONNX models in Isthmus"}
WIRES = {"grpc": "Isthmus, gRPC to it", "rest": "Isthmus, REST to it", "local": "Isthmus"}
# What serves less than the rest: no client of the protocol reaches aiSSEMBLE's gRPC service, which it calls GrpcInferenceService.
ONLY = {"aissemble": "rest", "dynamo": "grpc"}
START_SECONDS = 900


class ResultsError(Exception):
    """A server that does not start, or a run without a report."""


class Supervised:
    """A process in a group of its own, which is started again whenever it ends, until the block ends."""

    def __init__(self, command, log, environment=None):
        self.command, self.log, self.environment = command, log, {**os.environ, **(environment or {})}
        self.starts, self.process, self.stopped = 0, None, threading.Event()
        self.keeper = threading.Thread(target=self.keep, daemon=True)

    def keep(self):
        with open(self.log, "ab") as output:
            while not self.stopped.is_set():
                self.starts += 1
                self.process = subprocess.Popen(self.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                                env=self.environment)
                while self.process.poll() is None and not self.stopped.wait(0.1):
                    pass
        self.end()

    def end(self):
        for each in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, each)
                self.process.wait(40)
                return
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                pass

    def __enter__(self):
        self.keeper.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.keeper.join()


class Server:
    """A real server of start.sh. Requests of the suite crash some of them; then it is started again."""

    def __init__(self, name, folder):
        self.name, self.log = name, folder / f"{name}.log"
        self.ports = {"rest": free_port(), "grpc": free_port()}
        self.supervised = Supervised([str(HERE / "start.sh"), name], self.log, {
            "HTTP_PORT": str(self.ports["rest"]), "GRPC_PORT": str(self.ports["grpc"]), "METRICS_PORT": str(free_port()),
            "REPO": str(folder / f"{name}-models")})

    def ready(self):
        try:
            if ONLY.get(self.name) == "grpc":
                grpc = Grpc(f"127.0.0.1:{self.ports['grpc']}", timeout=5)
                return all(grpc.call("ModelReady", pb.ModelReadyRequest(name=each)).ready for each in FLEETS[self.name].known)
            with urlopen(f"http://127.0.0.1:{self.ports['rest']}/v2/health/ready", timeout=5) as response:
                return response.status == 200
        except (URLError, OSError, AssertionError):
            return False

    def run(self, test):
        """The report of a test, and how often the server ended meanwhile."""
        end = time.monotonic() + START_SECONDS
        while not self.ready():
            if time.monotonic() > end:
                raise ResultsError(f"{self.name} did not become ready:\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.5)
        before = self.supervised.starts
        report = test()
        return {**report, "ended": self.supervised.starts - before}


@contextmanager
def isthmus(program, name, wire, ports, folder):
    """Isthmus in front of a server, as its port and those of the suite's witnesses."""
    port, rest, grpc = free_port(), free_port(), free_port()
    shared = ", shared_memory: true" if name == "triton" else ""
    upstream = "local: {embedded_models: true}" if wire == "local" else ""
    entry = "" if wire == "local" else f'  server: {{protocol: {wire}, endpoints: ["127.0.0.1:{ports[wire]}"]{shared}}}'
    config = folder / f"{name}-{wire}.yaml"
    config.write_text(f"""\
listeners: [{{host: 127.0.0.1, port: {port}, management: allow}}]
answers: {{errors: passed}}
default_upstream: {"local" if wire == "local" else "server"}
{upstream}
upstreams:
{entry}
  witness_rest: {{protocol: rest, endpoints: ["127.0.0.1:{rest}"]}}
  witness_grpc: {{protocol: grpc, endpoints: ["127.0.0.1:{grpc}"]}}
models:
  witness_rest: {{upstream: witness_rest}}
  witness_grpc: {{upstream: witness_grpc}}
""")
    log = folder / f"{name}-{wire}.log"
    with Supervised([program, "serve", "--config", str(config)], log) as started:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and started.starts < 2:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                yield port, rest, grpc
                return
            except OSError:
                time.sleep(0.5)
        raise ResultsError(f"isthmus did not start:\n{log.read_text(errors='replace')[-2000:]}")


def suite(rest, grpc, models, folder, *arguments):
    """The report of one run; without REST cases if rest is None."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    address = [f"127.0.0.1:{rest}"] if rest else []
    done = subprocess.run([sys.executable, "-m", "oip_conformance", *address, "--grpc", f"127.0.0.1:{grpc}", "--models", models,
                           "--timeout", "30", "--restart", "120", "--json", str(report), "--quiet", *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode > 1 or not report.exists():
        raise ResultsError(f"oip-conformance {rest} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(report.read_text())


def measured(program, name, folder):
    """The reports of a server: alone, and behind Isthmus over each wire."""
    server = Server(name, folder)
    with server.supervised:
        rest = None if ONLY.get(name) == "grpc" else server.ports["rest"]
        yield RELEASES[name], "alone", server.run(lambda: suite(rest, server.ports["grpc"], name, folder))
        for wire in (ONLY[name],) if name in ONLY else ("grpc", "rest"):
            yield RELEASES[name], WIRES[wire], server.run(lambda wire=wire: behind(program, name, wire, server.ports, folder))


def behind(program, name, wire, ports, folder):
    with isthmus(program, name, wire, ports, folder) as (port, rest, grpc):
        return suite(port, port, "onnx" if wire == "local" else name, folder, "--dangerous", "--witness-rest", str(rest),
                     "--witness-grpc", str(grpc))


def percent(part):
    return f"{part['score']:.1f} %" if part["passed"] + part["failed"] else "–"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(results, key):
    """The scores of each chapter or profile, a column for each endpoint."""
    names = list(results[0][2][key])
    lines = [row([key.removeprefix("by_"), *(f"{server}, {way}" if way == "alone" else way for server, way, _ in results)]),
             "|---" * (len(results) + 1) + "|"]
    return lines + [row([name, *(percent(report[key][name]) for _, _, report in results)]) for name in names]


def page(results):
    lines = ["# Results of the conformance suite", "",
             "`conformance/results` writes this page. Each endpoint has the suite's models; the cases that do not apply to an endpoint "
             "count for nothing. Isthmus is tested with `--dangerous`, with scripted upstreams, and with `answers: {errors: passed}`. "
             "*Ended*: how often the server's process ended because of the requests; it was started again.", "",
             row(["server", "endpoint", "score", "passed", "failed", "not applicable", "ended"]), "|---|---|---|---|---|---|---|"]
    lines += [row([server, way, f"**{percent(report)}**", *(str(report.get(key, 0)) for key in ("passed", "failed", "not_applicable", "ended"))])
              for server, way, report in results]
    for name in dict.fromkeys(server for server, _, _ in results):
        mine = [result for result in results if result[0] == name]
        lines += ["", f"## {name}", *table(mine, "by_profile"), "", *table(mine, "by_chapter")]
    lines += ["", f"oip-conformance {results[0][2]['suite']}, {len(results[0][2]['cases'])} cases; [what each rests on](CASES.md)."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=f"{', '.join(RELEASES)}; default: all")
    parser.add_argument("--output", default=str(HERE / "RESULTS.md"), help="the page (default: RESULTS.md beside this file)")
    parser.add_argument("--isthmus", default=str(HERE.parent / "isthmus"), help="the start script (default: the checkout's, which builds)")
    given = parser.parse_args()
    known = list(RELEASES)
    if set(given.servers) - set(known):
        parser.error(f"servers are {given.servers}, expected some of {known}")
    results = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in given.servers or known:
                found = ([(RELEASES[name], WIRES["local"], behind(given.isthmus, name, "local", {}, Path(folder)))] if name == "local"
                         else measured(given.isthmus, name, Path(folder)))
                for result in found:
                    print(f"{result[0]}, {result[1]}: {percent(result[2])}", flush=True)
                    results.append(result)
    except ResultsError as error:
        print(f"results: {error}", file=sys.stderr)
        return 1
    Path(given.output).write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
