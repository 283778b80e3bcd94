"""Compares the local backend with MLServer over the network: the same models, by turns, loaded by h2load. bench/local --http runs it with
MLServer's Python. MLServer runs them with the runtime in mlserver_onnx.py.
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import grpc
import numpy as np
from mlserver.grpc.dataplane_pb2 import ModelInferResponse

from batching import grpc_body

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "conformance"))
from oip_conformance.ports import free_port  # noqa: E402

CASES = {"digits": ("image", [1, 64]), "ppocr_cls": ("x", [1, 3, 48, 192])}
CLIENTS = (1, 8, 32)
WARM_CLIENTS = 8
WARM_TIMES = 4  # as long as a measurement
TOLERANCE = 1e-6
START_SECONDS = 90
LENGTH = "Inference-Header-Content-Length"
INFER = "/inference.GRPCInferenceService/ModelInfer"
WIDTHS = (36, 32, 32, 16, 13, 7)


class Request:
    """The request of a case in one encoding: json, binary or grpc."""

    def __init__(self, model, encoding):
        self.model, self.encoding = model, encoding
        name, shape = CASES[model]
        numbers = np.random.default_rng(25).random(shape, dtype=np.float32)
        tensor = {"name": name, "datatype": "FP32", "shape": shape}
        self.headers = {}
        if encoding == "grpc":
            self.body = grpc_body(model, [(name, "FP32", shape, numbers.tobytes())])
            self.headers = {"content-type": "application/grpc", "te": "trailers"}
        elif encoding == "json":
            tensor["data"] = [float(str(number)) for number in numbers.ravel()]
            self.body = json.dumps({"inputs": [tensor]}).encode()
            self.headers["content-type"] = "application/json"
        else:
            tensor["parameters"] = {"binary_data_size": numbers.nbytes}
            head = json.dumps({"parameters": {"binary_data_output": True}, "inputs": [tensor]}).encode()
            self.body = head + numbers.tobytes()
            self.headers = {"content-type": "application/octet-stream", LENGTH: str(len(head))}

    def text(self):
        return "gRPC" if self.encoding == "grpc" else f"REST {self.encoding}"

    def url(self, server):
        port = server["grpc" if self.encoding == "grpc" else "http"]
        return f"http://127.0.0.1:{port}" + (INFER if self.encoding == "grpc" else f"/v2/models/{self.model}/infer")

    def floats(self, server):
        """The first FP32 output of one response."""
        if self.encoding == "grpc":
            with grpc.insecure_channel(f"127.0.0.1:{server['grpc']}") as channel:
                response = ModelInferResponse.FromString(channel.unary_unary(INFER)(self.body[5:], timeout=60))
            at = [output.datatype for output in response.outputs].index("FP32")
            return np.frombuffer(response.raw_output_contents[at], np.float32)
        sent = urllib.request.Request(self.url(server), self.body, self.headers)
        with urllib.request.urlopen(sent, timeout=60) as answer:
            body, length = answer.read(), answer.headers.get(LENGTH)
        at = int(length) if length else len(body)
        for output in json.loads(body[:at])["outputs"]:
            size = output.get("parameters", {}).get("binary_data_size", 0) if length else 0
            if output["datatype"] == "FP32":
                return np.frombuffer(body[at:at + size], np.float32) if size else np.array(output["data"], np.float32).ravel()
            at += size
        raise SystemExit(f"local: no FP32 in the response of {server['name']}")

    def load(self, server, clients, seconds, folder):
        """Requests a second, p50 and p99 in ms, of a closed loop of clients with one connection each."""
        (folder / "body").write_bytes(self.body)
        log = folder / "log"
        log.unlink(missing_ok=True)
        command = ["h2load", "-t1", f"-c{clients}", "-m1", "-D", f"{round(seconds * 1_000)}ms", "-d", str(folder / "body"), f"--log-file={log}"]
        command += [] if self.encoding == "grpc" else ["--h1"]
        for field in self.headers.items():
            command += ["-H", ": ".join(field)]
        printed = subprocess.run([*command, self.url(server)], check=True, capture_output=True, text=True).stdout
        lines = np.loadtxt(log, dtype=np.int64, ndmin=2)
        if not len(lines) or (lines[:, 1] != 200).any():
            raise SystemExit(f"local: {server['name']}: {self.text()} of {self.model}: 200 is expected\n{printed}")
        return len(lines) / seconds, *(np.percentile(lines[:, 2], (50, 99)) / 1_000)


def row(*cells):
    print("".join(f"| {cell:<{width}} " for cell, width in zip(cells, WIDTHS)) + "|", flush=True)


def brief(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def measure(request, servers, clients, args, folder):
    """Prints a row; returns whether its goal is met."""
    turns = {server["name"]: [] for server in servers}
    for _ in range(args.rounds + 1):
        for server in servers:
            turns[server["name"]].append(request.load(server, clients, args.seconds, folder))
    # The first round warms up.
    medians = [[statistics.median(column) for column in zip(*rounds[1:])] for rounds in turns.values()]
    cells = [f"{brief(rate)} /s, {brief(p50)} / {brief(p99)}" for rate, p50, p99 in medians]
    measured = f"{request.model}, {request.text()}, {clients} client{'s' if clients > 1 else ''}"
    if len(servers) == 1:
        row(measured, *cells, "", "", "", "")
        return True
    rate, tail = (medians[0][i] / medians[1][i] for i in (0, 2))
    met = rate > 1 and tail < 1
    row(measured, *cells, f"{rate:.1f} x, {tail:.2f} x", "> 1 x, < 1 x", "pass" if met else "missed")
    return met


def compare(servers, args, folder):
    met = True
    for model in CASES:
        for encoding in ("json", "binary", "grpc"):
            # MLServer does not support the binary tensor data extension.
            request, both = Request(model, encoding), servers[:1] if encoding == "binary" else servers
            for server in both:
                request.load(server, WARM_CLIENTS, WARM_TIMES * args.seconds, folder)
            answers = [request.floats(server) for server in both]
            if len(answers[0]) != len(answers[-1]) or not np.allclose(answers[0], answers[-1], rtol=0, atol=TOLERANCE):
                raise SystemExit(f"local: {model}, {request.text()}: {answers[0]} is not {answers[1]}")
            for clients in CLIENTS:
                met &= measure(request, both, clients, args, folder)
    return met


def started(stack, server, command, environment, folder):
    """Starts a server; it is ready when this returns, and ends with the stack."""
    log = folder / f"{server['name']}.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, **environment})
    stack.callback(process.wait)
    stack.callback(process.kill)
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{server['http']}/v2/health/ready", timeout=2):
            return server
        time.sleep(0.1)
    raise SystemExit(f"local: {server['name']} did not become ready\n{log.read_text()[-2000:]}")


def gateway(stack, home, models, folder):
    port = free_port()
    config = folder / "isthmus.yaml"
    config.write_text(f'listeners: [{{host: 127.0.0.1, port: {port}}}]\nlocal: {{model_repository: "{models}"}}\ndefault_upstream: local\n')
    command = [home / "gateway/app/target/dist/bin/isthmus", "serve", "--config", config]
    return started(stack, {"name": "Isthmus", "http": port, "grpc": port}, command, {}, folder)


def mlserver(stack, args, models, folder):
    server = {"name": "MLServer", "http": free_port(), "grpc": free_port()}
    settings = {"host": "127.0.0.1", "http_port": server["http"], "grpc_port": server["grpc"], "metrics_port": free_port(),
                "metrics_endpoint": None, "parallel_workers": args.workers, "gzip_enabled": False, "debug": False,
                "use_structured_logging": False}
    (folder / "settings.json").write_text(json.dumps(settings))
    for model in CASES:
        (folder / model).mkdir()
        settings = {"name": model, "implementation": "mlserver_onnx.OnnxModel", "parameters": {"uri": str(models / model / "1/model.onnx")}}
        (folder / model / "model-settings.json").write_text(json.dumps(settings))
    packages = folder / "packages"
    packages.mkdir()
    found, = args.onnxruntime.glob("lib/python*/site-packages/onnxruntime")
    (packages / "onnxruntime").symlink_to(found)
    path = os.pathsep.join((str(packages), str(Path(__file__).parent)))
    return started(stack, server, [Path(sys.executable).parent / "mlserver", "start", folder], {"PYTHONPATH": path}, folder)


def main():
    parser = argparse.ArgumentParser(prog="local --http", description="Compares the local backend with MLServer over the network.")
    parser.add_argument("--home", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--onnxruntime", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--http", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of each measurement: 3")
    parser.add_argument("--seconds", type=float, default=2, help="duration of one measurement: 2")
    parser.add_argument("--workers", type=int, default=0,
                        help="processes of MLServer that run models; 0, the default: only its main process")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        models, other = folder / "models", folder / "mlserver"
        other.mkdir()
        shutil.copytree(args.home / "local-backend/src/main/resources/models/digits", models / "digits")
        shutil.copytree(args.models / "ppocr_cls", models / "ppocr_cls")
        servers = [gateway(stack, args.home, models, folder), mlserver(stack, args, models, other)]
        row("measure", "Isthmus, ms p50 / p99", "MLServer, ms p50 / p99", "ratio", "goal", "verdict")
        print("|" + "---|" * len(WIDTHS))
        sys.exit(0 if compare(servers, args, folder) else 1)


if __name__ == "__main__":
    main()
