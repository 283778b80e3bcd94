"""Runs MLPerf's load generator against servers of the Open Inference Protocol, and compares each answer bit for bit.

The model is an identity of FP32, so that the expected answer of each sample is the sample: a run in the mode AccuracyOnly fails on the
first bit that differs. Started by bench/loadgen, which starts the server and Isthmus.
"""
import argparse
import array
import json
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from importlib.metadata import version
from pathlib import Path

import mlperf_loadgen as lg
import numpy as np
from oip_conformance.client import Grpc, pb

WIDTH = 256
SAMPLES = 512
HEADROOM = 1.5  # of the rate that Offline expects over that of the run before, whose start counts
SCENARIOS = {"SingleStream": lg.TestScenario.SingleStream, "Server": lg.TestScenario.Server, "Offline": lg.TestScenario.Offline}
# What the summary of a run gives for each scenario.
FIGURES = {"SingleStream": "90.0th percentile latency (ns)", "Server": "Completed samples per second", "Offline": "Samples per second"}


def sample_library():
    """Random bits of finite numbers, subnormal ones and zeros of both signs among them."""
    raw = np.random.default_rng(7).integers(0, 2**32, (SAMPLES, WIDTH), dtype=np.uint32)
    values = raw.view(np.float32)
    return np.where(np.isfinite(values), values, np.float32(-0.0))


class Rest:
    """A client of one model over REST with JSON; a connection for each thread."""

    def __init__(self, address, model):
        self.address, self.path, self.local = address, f"/v2/models/{model}/infer", threading.local()

    def infer(self, sample):
        if not hasattr(self.local, "connection"):
            self.local.connection = HTTPConnection(self.address, timeout=60)
        body = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, WIDTH], "datatype": "FP32", "data": sample.astype(float).tolist()}]})
        self.local.connection.request("POST", self.path, body, {"Content-Type": "application/json"})
        response = self.local.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise AssertionError(f"status {response.status}: {content[:200]!r}")
        output, = json.loads(content)["outputs"]
        return np.array(output["data"], np.float64).astype(np.float32).tobytes()


class OverGrpc:
    """A client of one model over gRPC with raw tensors."""

    def __init__(self, address, model):
        self.grpc, self.model = Grpc(address, timeout=60), model

    def infer(self, sample):
        tensor = pb.ModelInferRequest.InferInputTensor(name="INPUT0", datatype="FP32", shape=[1, WIDTH])
        request = pb.ModelInferRequest(model_name=self.model, inputs=[tensor], raw_input_contents=[sample.tobytes()])
        return self.grpc.call("ModelInfer", request).raw_output_contents[0]


class System:
    """The system under test, as the load generator sees it. The first failed call is kept: the run's figures are void then."""

    def __init__(self, client, samples, threads):
        self.client, self.samples, self.failed = client, samples, None
        self.pool = ThreadPoolExecutor(threads)

    def issue(self, queries):
        for query in queries:
            self.pool.submit(self.answer, query.id, query.index)

    def answer(self, query, index):
        try:
            content = self.client.infer(self.samples[index])
        except (AssertionError, OSError, ValueError, LookupError) as error:
            self.failed = self.failed or error
            content = b""
        held = array.array("B", content)
        address, size = held.buffer_info()
        lg.QuerySamplesComplete([lg.QuerySampleResponse(query, address, size)])


def settings(scenario, mode, given, rate):
    """rate: samples per second that Offline expects; it sends as many as take its minimum duration then."""
    made = lg.TestSettings()
    made.scenario, made.mode = SCENARIOS[scenario], mode
    made.min_duration_ms = int(given.seconds * 1000)
    made.min_query_count = 1 if scenario == "Offline" else given.queries
    made.server_target_qps, made.offline_expected_qps = given.rate, rate
    made.server_target_latency_ns = int(given.latency_ms * 1e6)
    made.server_target_latency_percentile = 0.99
    return made


def run(scenario, mode, client, samples, folder, given, rate=1.0):
    """The folder of the run's logs. AssertionError if a call failed."""
    folder.mkdir(parents=True, exist_ok=True)
    system = System(client, samples, given.threads)
    output = lg.LogOutputSettings()
    output.outdir, output.copy_summary_to_stdout = str(folder), False
    logs = lg.LogSettings()
    logs.log_output, logs.enable_trace = output, False
    sut = lg.ConstructSUT(system.issue, lambda: None)
    library = lg.ConstructQSL(SAMPLES, SAMPLES, lambda _: None, lambda _: None)
    try:
        lg.StartTestWithLogSettings(sut, library, settings(scenario, mode, given, rate), logs)
    finally:
        lg.DestroyQSL(library)
        lg.DestroySUT(sut)
        system.pool.shutdown()
    if system.failed:
        raise AssertionError(f"{scenario}: {system.failed}")
    return folder


def check_bits(folder, samples):
    """The number of answers in a run's accuracy log. AssertionError if one differs from its sample, or samples are missing."""
    answers = json.loads((folder / "mlperf_log_accuracy.json").read_text())
    for answer in answers:
        expected = samples[answer["qsl_idx"]].tobytes().hex().upper()
        if answer["data"].upper() != expected:
            raise AssertionError(f"sample {answer['qsl_idx']} came back as {answer['data'][:80]}..., expected {expected[:80]}...")
    if {answer["qsl_idx"] for answer in answers} != set(range(SAMPLES)):
        raise AssertionError(f"{len(answers)} answers, expected all of {SAMPLES} samples")
    return len(answers)


def figure(folder, scenario):
    text = (folder / "mlperf_log_summary.txt").read_text()
    value = re.search(rf"^{re.escape(FIGURES[scenario])}\s*:\s*(\S+)", text, re.M)
    verdict = re.search(r"^Result is\s*:\s*(\w+)", text, re.M)
    if value is None or verdict is None:
        raise AssertionError(f"the summary of {scenario} has no '{FIGURES[scenario]}':\n{text}")
    return float(value[1]), verdict[1]


def main():
    parser = argparse.ArgumentParser(prog="loadgen", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("endpoints", nargs="+", metavar="NAME=rest|grpc@HOST:PORT", help="what is measured")
    parser.add_argument("--model", default="identity_fp32")
    parser.add_argument("--output", type=Path, required=True, help="folder of the load generator's logs")
    parser.add_argument("--table", type=Path, metavar="FILE", help="also write the table, in Markdown, to this file")
    parser.add_argument("--seconds", type=float, default=60, help="minimum duration of a run (default: %(default)g, MLPerf's)")
    parser.add_argument("--queries", type=int, default=1024, help="minimum number of queries of a run (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=200, help="queries per second of Server (default: %(default)g)")
    parser.add_argument("--latency-ms", type=float, default=50, help="limit of Server's 99th percentile (default: %(default)g)")
    parser.add_argument("--threads", type=int, default=8, help="calls at the same time (default: %(default)s)")
    given = parser.parse_args()
    samples = sample_library()
    rows = []
    for endpoint in given.endpoints:
        name, wire, address = re.fullmatch(r"([^=]+)=(rest|grpc)@(.+)", endpoint).groups()
        client = (Rest if wire == "rest" else OverGrpc)(address, given.model)
        for scenario in SCENARIOS:
            folder = given.output / name / scenario
            begin = time.monotonic()
            equal = check_bits(run(scenario, lg.TestMode.AccuracyOnly, client, samples, folder / "accuracy", given), samples)
            rate = HEADROOM * SAMPLES / (time.monotonic() - begin)
            value, verdict = figure(run(scenario, lg.TestMode.PerformanceOnly, client, samples, folder / "performance", given, rate), scenario)
            rows.append((name, scenario, equal, shown(scenario, value), verdict))
            print(*rows[-1], flush=True)
    text = table(rows, given)
    print("\n" + text, end="")
    if given.table:
        given.table.write_text(text)


def shown(scenario, value):
    return f"{value / 1e6:.2f} ms" if scenario == "SingleStream" else f"{value:.1f} samples/s"


def table(rows, given):
    """The outcomes in Markdown, with the conditions that they were measured under."""
    figures = "; ".join(f"{scenario}: {name.removesuffix(' (ns)')}" for scenario, name in FIGURES.items())
    lines = [f"LoadGen {version('mlcommons-loadgen')}, {given.seconds:g} s for each run, Server at {given.rate:g}/s with a 99th percentile of at most "
             f"{given.latency_ms:g} ms, {given.threads} calls at a time. {figures}. *Bits*: answers of AccuracyOnly that have the bits of "
             "their sample, which is all of them.", "", "| endpoint | scenario | bits | figure | result |", "|---|---|---|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows]) + "\n"


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"loadgen: {problem}")
