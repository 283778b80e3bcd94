#!/usr/bin/env python3
"""Writes the request bodies of all workloads into a folder (deterministic).

For each workload NAME:
  NAME.json          V2 REST request, JSON
  NAME.tc.json       the same request in plain proto3 JSON (tensor under contents.<typed field>), which is what a
                     generic transcoder such as Envoy's grpc_json_transcoder understands
  NAME.bin           V2 REST request with the binary tensor data extension (NAME.bin.len: its JSON header length)
  NAME.grpc          gRPC frame (5-byte prefix + ModelInferRequest) with raw_input_contents
  NAME.typed.grpc    the same with typed contents
Needs numpy.
"""
import base64
import json
import struct
import sys
from pathlib import Path

import numpy as np


def varint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def frame(message):
    return struct.pack(">BI", 0, len(message)) + message


def typed_contents(datatype, array):
    if datatype == "FP32":
        return field(6, array.astype("<f4").tobytes())
    if datatype == "UINT8":
        return field(4, b"".join(varint(int(v)) for v in array.ravel()))
    if datatype == "BYTES":
        return b"".join(field(8, v) for v in array)
    raise ValueError(datatype)


def raw(datatype, array):
    if datatype == "BYTES":
        return b"".join(struct.pack("<I", len(v)) + v for v in array)
    return array.tobytes()


def write(folder, name, model, datatype, shape, array, texts, grpc_only=False):
    def grpc(with_raw):
        tensor = field(1, b"input0") + field(2, datatype.encode()) + field(3, b"".join(varint(d) for d in shape))
        if not with_raw:
            tensor += field(5, typed_contents(datatype, array))
        message = field(1, model.encode()) + field(5, tensor)
        if with_raw:
            message += field(7, raw(datatype, array))
        return frame(message)

    blob = raw(datatype, array)
    head = json.dumps({"inputs": [{"name": "input0", "shape": shape, "datatype": datatype,
                                   "parameters": {"binary_data_size": len(blob)}}],
                       "parameters": {"binary_data_output": True}},
                      separators=(",", ":")).encode()
    (folder / f"{name}.bin").write_bytes(head + blob)
    (folder / f"{name}.bin.len").write_text(str(len(head)))
    (folder / f"{name}.grpc").write_bytes(grpc(True))
    if grpc_only:
        return
    (folder / f"{name}.typed.grpc").write_bytes(grpc(False))
    start = '{"inputs":[{"name":"input0","shape":%s,"datatype":"%s",' % (json.dumps(shape, separators=(",", ":")), datatype)
    (folder / f"{name}.json").write_text(start + '"data":[' + ",".join(texts) + "]}]}")
    key = {"FP32": "fp32_contents", "UINT8": "uint_contents", "BYTES": "bytes_contents"}[datatype]
    if datatype == "BYTES":
        texts = [json.dumps(base64.b64encode(v).decode()) for v in array]
    (folder / f"{name}.tc.json").write_text(start + '"contents":{"%s":[' % key + ",".join(texts) + "]}}]}")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "payloads")
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240501)

    small = np.array([0.5, -1.25, 3.0, 0.1], dtype="<f4")
    write(folder, "s", "echo", "FP32", [1, 4], small, [repr(float(str(v))) for v in small])

    image = rng.standard_normal(3 * 224 * 224).astype("<f4")
    shape = [1, 3, 224, 224]
    short = [str(v) for v in image]               # shortest text of a float32: 8-9 significant digits
    long = [repr(float(v)) for v in image]        # what numpy's .tolist() gives: the double's 16-17 digits
    write(folder, "m9", "cls", "FP32", shape, image, short)
    write(folder, "m17", "cls", "FP32", shape, image, long)
    write(folder, "me", "echo", "FP32", shape, image, short)
    pixels = rng.integers(0, 256, 3 * 224 * 224, dtype=np.uint8)
    write(folder, "mu8", "cls", "UINT8", shape, pixels, [str(v) for v in pixels])

    big = rng.standard_normal(4 << 20).astype("<f4")
    write(folder, "l", "echo", "FP32", [4, 1024, 1024], big, None, grpc_only=True)

    text = np.array([b"The quick brown fox jumps over the lazy dog near the river bank, then rests."], dtype=object)
    write(folder, "e", "emb", "BYTES", [1, 1], text, [json.dumps(v.decode()) for v in text])

    # Models that answer with typed contents, for transcoders which do not understand raw_output_contents.
    for name, model in (("m9", "cls-typed"), ("m17", "cls-typed"), ("mu8", "cls-typed"), ("e", "emb-typed")):
        body = (folder / f"{name}.typed.grpc").read_bytes()[5:]
        skip = 2 + body[1]
        (folder / f"{name}.typed.grpc").write_bytes(frame(field(1, model.encode()) + body[skip:]))
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>10} {path.name}")


if __name__ == "__main__":
    main()
