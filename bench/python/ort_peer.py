#!/usr/bin/env python3
"""Measures ONNX Runtime in Python, on request of bench/local. Usage: ort_peer.py CASES_JSON

CASES_JSON: {model: {"onnx": FILE, "inputs": [{"name", "type", "shape", "file"}]}}. Reads commands and prints a line for each:
  latency MODEL SECONDS            = P50 P99         latency of session.run on one thread, in microseconds
  threads MODEL THREADS SECONDS    = RATE            runs per second of THREADS threads
"""
import json
import os
import sys
import threading
import time

import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by the library when it is loaded
import onnxruntime  # noqa: E402

TYPES = {"FP32": np.float32, "INT32": np.int32, "INT64": np.int64}


class Case:
    def __init__(self, spec):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(spec["onnx"], options, providers=["CPUExecutionProvider"])
        self.feed = {i["name"]: np.fromfile(i["file"], TYPES[i["type"]]).reshape(i["shape"]) for i in spec["inputs"]}

    def latency(self, seconds):
        run, feed, clock, nanos = self.session.run, self.feed, time.perf_counter_ns, []
        begun = clock()
        end = begun + int(float(seconds) * 1e9)
        while begun < end:
            run(None, feed)
            now = clock()
            nanos.append(now - begun)
            begun = now
        return tuple(np.percentile(nanos, (50, 99)) / 1000)

    def threads(self, count, seconds):
        begun = time.monotonic()
        end = begun + float(seconds)
        counts = [0] * int(count)

        def call(number):
            run, feed, done = self.session.run, self.feed, 0
            while time.monotonic() < end:
                run(None, feed)
                done += 1
            counts[number] = done

        callers = [threading.Thread(target=call, args=(number,)) for number in range(int(count))]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        return (sum(counts) / (time.monotonic() - begun),)


def main():
    with open(sys.argv[1]) as file:
        cases = {model: Case(spec) for model, spec in json.load(file).items()}
    print("ready " + onnxruntime.__version__, flush=True)
    for line in sys.stdin:
        command, model, *arguments = line.split()
        measure = {"latency": Case.latency, "threads": Case.threads}[command]
        print("= " + " ".join(f"{figure:.3f}" for figure in measure(cases[model], *arguments)), flush=True)


if __name__ == "__main__":
    main()
