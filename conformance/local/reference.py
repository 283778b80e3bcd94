#!/usr/bin/env python3
"""Runs ONNX Runtime in Python for reference results of the tests here. Usage: reference.py OUT MODEL=FILE...

Writes OUT/MODEL.npz for each model: in.N.NAME and out.N.NAME of one request after the other. One thread, no batching, as in
the gateway.
"""
import os
import pathlib
import sys

import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by the library when it is loaded
import onnxruntime  # noqa: E402


def floats(rng, *shape):
    return rng.random(shape, dtype=np.float32)


def speech(rng):
    """Consecutive windows for Silero: the output state of one request is the input of the next."""
    state = np.zeros((2, 1, 128), np.float32)
    for _ in range(5):
        answer = yield {"input": floats(rng, 1, 576) - 0.5, "state": state, "sr": np.array(16000, np.int64)}
        state = answer["stateN"]
    yield {"input": floats(rng, 3, 576) - 0.5, "state": floats(rng, 2, 3, 128), "sr": np.array(16000, np.int64)}


def half_speech(rng):
    for batch in (1, 4):
        yield {"input": floats(rng, batch, 576) - 0.5, "state": floats(rng, 2, batch, 128)}


def images(*shapes):
    def requests(rng):
        for shape in shapes:
            yield {"x": floats(rng, *shape) * 2 - 1}
    return requests


def files(rng):
    for batch in (1, 3):
        yield {"bytes": rng.integers(0, 257, (batch, 2048), np.int32)}


def digits(rng):
    for batch in (1, 7, 64):
        yield {"image": floats(rng, batch, 64)}


def simple(rng):
    for batch in (1, 5):
        numbers = rng.integers(-2**31, 2**31, (2, batch, 16), np.int64).astype(np.int32)
        yield {"INPUT0": numbers[0], "INPUT1": numbers[1]}


REQUESTS = {
    "digits": digits,
    "simple": simple,
    "magika": files,
    "silero_vad": speech,
    "silero_vad_half": half_speech,
    "ppocr_cls": images((1, 3, 48, 192), (2, 3, 48, 192), (1, 3, 32, 100)),
    "ppocr_det": images((1, 3, 320, 320), (1, 3, 96, 160)),
    "ppocr_rec": images((1, 3, 48, 320),),
}


def answers(model, file):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    requests = REQUESTS[model](np.random.default_rng(6))
    arrays, answer, number = {}, None, 0
    while True:
        try:
            feed = requests.send(answer)
        except StopIteration:
            return arrays
        answer = dict(zip(names, session.run(None, feed)))
        for way, tensors in ("in", feed), ("out", answer):
            arrays.update({f"{way}.{number}.{name}": tensor for name, tensor in tensors.items()})
        number += 1


def main(out, *models):
    print("onnxruntime", onnxruntime.__version__)
    for each in models:
        model, file = each.split("=", 1)
        np.savez(pathlib.Path(out, model), **answers(model, file))


if __name__ == "__main__":
    main(*sys.argv[1:])
