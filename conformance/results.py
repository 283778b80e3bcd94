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
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

HERE = Path(__file__).parent
RELEASES = {"triton": "Triton 2.51.0 (24.10)", "mlserver": "MLServer 1.7.1", "kserve": "KServe 0.21.0",
            "aissemble": "aiSSEMBLE 1.1.0",
            "local": "ONNX models in Isthmus"}
WIRES = {"grpc": "Isthmus, gRPC to it", "rest": "Isthmus, REST to it", "local": "Isthmus"}
START_SECONDS = 900


class ResultsError(Exception):
    """A server that does not start, or a run without a report."""


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def process(command, log, environment=None, cwd=None):
    """A process in a group of its own, which ends with the block."""
    with open(log, "wb") as output:
        started = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=cwd,
                                   env={**os.environ, **(environment or {})})
        try:
            yield started
        finally:
            os.killpg(started.pid, signal.SIGTERM)
            try:
                started.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()


def await_ready(started, port, log):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and started.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise ResultsError(f"{started.args[0]} did not become ready:\n{Path(log).read_text(errors='replace')[-2000:]}")


@contextmanager
def server(name, folder):
    """A real server of start.sh, as its ports {rest, grpc}."""
    ports = {"rest": free_port(), "grpc": free_port()}
    environment = {"HTTP_PORT": str(ports["rest"]), "GRPC_PORT": str(ports["grpc"]), "METRICS_PORT": str(free_port()),
                   "REPO": str(folder / f"{name}-models")}
    log = folder / f"{name}.log"
    with process([str(HERE / "start.sh"), name], log, environment) as started:
        await_ready(started, ports["rest"], log)
        yield ports


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
    with process([program, "serve", "--config", str(config)], log) as started:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and started.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                yield port, rest, grpc
                return
            except OSError:
                time.sleep(0.5)
        raise ResultsError(f"isthmus did not start:\n{log.read_text(errors='replace')[-2000:]}")


def suite(rest, grpc, models, folder, *arguments):
    """The report of one run."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-m", "oip_conformance", f"127.0.0.1:{rest}", "--grpc", f"127.0.0.1:{grpc}",
                           "--models", models, "--timeout", "30", "--json", str(report), "--quiet", *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode > 1 or not report.exists():
        raise ResultsError(f"oip-conformance {rest} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(report.read_text())


def measured(program, name, folder):
    """The reports of a server: alone, and behind Isthmus over each wire."""
    with server(name, folder) as ports:
        yield RELEASES[name], "alone", suite(ports["rest"], ports["grpc"], name, folder)
        # aiSSEMBLE calls its gRPC service GrpcInferenceService, so no client of the protocol reaches it.
        for wire in ("rest",) if name == "aissemble" else ("grpc", "rest"):
            yield RELEASES[name], WIRES[wire], behind(program, name, wire, ports, folder)


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
             "count for nothing. Isthmus is tested with `--dangerous`, with scripted upstreams, and with `answers: {errors: passed}`.", "",
             row(["server", "endpoint", "score", "passed", "failed", "not applicable"]), "|---|---|---|---|---|---|"]
    lines += [row([server, way, f"**{percent(report)}**", *(str(report[key]) for key in ("passed", "failed", "not_applicable"))])
              for server, way, report in results]
    for name in dict.fromkeys(server for server, _, _ in results):
        mine = [result for result in results if result[0] == name]
        lines += ["", f"## {name}", *table(mine, "by_profile"), "", *table(mine, "by_chapter")]
    lines += ["", f"oip-conformance {results[0][2]['suite']}, {len(results[0][2]['cases'])} cases; [what each rests on](CASES.md)."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="triton, mlserver, kserve, aissemble, local; default: all")
    parser.add_argument("--output", default=str(HERE / "RESULTS.md"), help="the page (default: RESULTS.md beside this file)")
    parser.add_argument("--isthmus", default=str(HERE.parent / "isthmus"), help="the start script (default: the checkout's, which builds)")
    given = parser.parse_args()
    known = ["triton", "mlserver", "kserve", "aissemble", "local"]
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
