#!/usr/bin/env python3
"""Runs models with ONNX Runtime in Python and writes inputs and outputs as raw bytes, for the local backend's test.

Usage: reference.py MODELS_FOLDER OUTPUT_FOLDER

Models are those of the tests (MODELS_FOLDER, see local-backend/models/generate.py) and generated casts of each number type to
FP64: a confused type or byte order is visible in a cast, but not in an identity model. Values are random from a fixed seed,
with the extremes of each type: NaNs with payloads, -0, infinities, subnormals.

OUTPUT_FOLDER/cases.tsv has one line per tensor: case, path of the model, "in" or "out", name, V2 datatype, shape, file. Files
of BYTES have V2's form: each element after its 4-byte length.
"""
import ctypes
import os
import pathlib
import struct
import sys

import numpy
from onnx import TensorProto, helper

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by the library when it is loaded
import onnxruntime  # noqa: E402

# V2 datatype: ONNX element type, bytes per element.
TYPES = {
    "BOOL": (TensorProto.BOOL, 1), "UINT8": (TensorProto.UINT8, 1), "UINT16": (TensorProto.UINT16, 2),
    "UINT32": (TensorProto.UINT32, 4), "UINT64": (TensorProto.UINT64, 8), "INT8": (TensorProto.INT8, 1),
    "INT16": (TensorProto.INT16, 2), "INT32": (TensorProto.INT32, 4), "INT64": (TensorProto.INT64, 8),
    "FP16": (TensorProto.FLOAT16, 2), "BF16": (TensorProto.BFLOAT16, 2), "FP32": (TensorProto.FLOAT, 4),
    "FP64": (TensorProto.DOUBLE, 8),
}
NAMES = {number: name for name, (number, _) in TYPES.items()}
UNSIGNED = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}
STRINGS = ["a", "\U0001f600", "\u00e9\u4e2d", "", "x" * 300, "a\0b", "\0", "\U0010ffff", "\ud7ff"]
FRACTION_BITS = {"FP16": 10, "BF16": 7, "FP32": 23, "FP64": 52}

random = numpy.random.default_rng(20261121)


def bits(kind, count):
    """Values of a number type by their bits: the extremes first, then random ones."""
    size = TYPES[kind][1]
    if kind == "BOOL":
        return random.integers(0, 2, count).astype(numpy.uint8)
    width = 8 * size
    sign = 1 << (width - 1)
    extremes = [0, 1, sign - 1, sign, 2 * sign - 1]
    if kind in FRACTION_BITS:
        one = 1 << FRACTION_BITS[kind]
        infinity = sign - one
        extremes += [infinity, infinity | sign, infinity | one // 2, infinity | one // 2 | 3, infinity | 1,
                     infinity - 1, one, one - 1, sign | 1]
    values = [int(each) for each in extremes[:count]]
    values += [int.from_bytes(random.bytes(size), "little") for _ in range(count - len(values))]
    return numpy.array(values, dtype=UNSIGNED[size])


def elements(strings):
    return b"".join(struct.pack("<I", len(each.encode())) + each.encode() for each in strings)


def open_model(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Reference:
    def __init__(self, folder):
        self.folder = folder
        self.lines = []
        self.files = 0

    def write(self, case, model, way, name, kind, shape, raw):
        file = f"{self.files}.bin"
        self.files += 1
        (self.folder / file).write_bytes(raw)
        extents = ",".join(str(each) for each in shape)
        self.lines.append("\t".join([case, str(model), way, name, kind, extents, file]))

    def run(self, case, model, inputs):
        """inputs: name to datatype and values as bits."""
        session = open_model(model)
        feed = {}
        for name, (kind, values) in inputs.items():
            feed[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(values, TYPES[kind][0])
            self.write(case, model, "in", name, kind, values.shape, values.tobytes())
        for node, value in zip(session.get_outputs(), session.run_with_ort_values(None, feed)):
            kind = NAMES[value.element_type()]
            size = int(numpy.prod(value.shape(), dtype=numpy.int64)) * TYPES[kind][1]
            raw = ctypes.string_at(value.data_ptr(), size) if size else b""
            self.write(case, model, "out", node.name, kind, value.shape(), raw)

    def run_strings(self, case, model, inputs):
        """inputs: name to an array of strings."""
        session = open_model(model)
        for name, values in inputs.items():
            self.write(case, model, "in", name, "BYTES", values.shape, elements(values.ravel()))
        for node, values in zip(session.get_outputs(), session.run(None, inputs)):
            if values.dtype == object:
                self.write(case, model, "out", node.name, "BYTES", values.shape, elements(values.ravel()))
            else:
                self.write(case, model, "out", node.name, "INT64", values.shape, values.tobytes())

    def run_maps(self, case, model, name, values):
        """A classifier that ends in a ZipMap: label, and sequence of maps from label to score."""
        session = open_model(model)
        label, maps = session.run(None, {name: values})
        self.write(case, model, "in", name, "FP32", values.shape, values.tobytes())
        integers = label.dtype == numpy.int64
        raw = label.tobytes() if integers else elements(label)
        self.write(case, model, "out", "output_label", "INT64" if integers else "BYTES", label.shape, raw)
        scores = numpy.array([[row[key] for key in sorted(row)] for row in maps], dtype=numpy.float32)
        self.write(case, model, "out", "output_probability", "FP32", scores.shape, scores.tobytes())


def cast(folder, kind):
    value = lambda name, number: helper.make_tensor_value_info(name, number, [None])
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)], "cast",
        [value("x", TYPES[kind][0])], [value("y", TensorProto.DOUBLE)])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / f"cast_{kind.lower()}.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def main(models, folder):
    folder.mkdir(parents=True, exist_ok=True)
    reference = Reference(folder)
    committed = lambda name: models / name / "1" / "model.onnx"
    for kind in TYPES:
        for shape in ((1, 1), (7, 9), (0, 16)):
            values = bits(kind, shape[0] * shape[1]).reshape(shape)
            reference.run(f"identity {kind} {shape}", committed(f"identity_{kind.lower()}"), {"INPUT0": (kind, values)})
        reference.run(f"cast {kind}", cast(folder, kind), {"x": (kind, bits(kind, 100))})
    text = numpy.array(STRINGS, dtype=object)
    reference.run_strings("identity BYTES", committed("identity_bytes"), {"INPUT0": text.reshape(3, 3)})
    reference.run_strings("strings", committed("strings"), {"left": text, "right": text[::-1]})
    flowers = random.uniform(0, 8, (50, 4)).astype(numpy.float32)
    for name in ("iris", "iris_int"):
        reference.run_maps(name, committed(name), "X", flowers)
    numbers = random.standard_normal((6, 4)).astype(numpy.float32)
    fp32 = lambda array: ("FP32", array.view(numpy.uint32))
    count = numpy.array(3, dtype=numpy.uint64)
    reference.run("scalar", committed("scalar"), {"x": fp32(numpy.array(1.1, dtype=numpy.float32)), "times": ("INT64", count)})
    reference.run("named", committed("named"), {"x": fp32(numbers), "y": fp32(numbers[::-1].copy())})
    reference.run("large", committed("large"), {"x": ("FP32", bits("FP32", 1 << 18))})
    reference.run("through", committed("through"), {"x": fp32(numbers.ravel())})
    sparse = numpy.where(numbers > 0, numbers, 0).astype(numpy.float32)
    reference.run("nonzero", committed("nonzero"), {"x": fp32(sparse)})
    reference.run("nonzero of nothing", committed("nonzero"), {"x": fp32(numpy.zeros((2, 2), dtype=numpy.float32))})
    reference.run("liar", committed("liar"), {"x": fp32(sparse.ravel())})
    (folder / "cases.tsv").write_text("\n".join(reference.lines) + "\n")
    print(f"onnxruntime={onnxruntime.__version__}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
