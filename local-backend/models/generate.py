#!/usr/bin/env python3
"""Generates the models that the local backend embeds, and those of its tests. Usage: generate.py LOCAL_BACKEND_FOLDER

Needs: pip install scikit-learn==1.9.1 skl2onnx==1.20.0 onnx==1.23.2. The outputs are committed, with checksums: they are
not generated in the build, for the bytes vary with the versions of these packages.

  digits   FP32 image [-1,64] -> INT64 label [-1], FP32 probabilities [-1,10]: an MLP of 8x8 handwritten digits (the UCI
           data set that scikit-learn ships)
  simple   INT32 INPUT0, INPUT1 [-1,16] -> INT32 OUTPUT0 (sum), OUTPUT1 (difference), as in Triton's client examples
"""
import hashlib
import json
import pathlib
import sys

from onnx import TensorProto, checker, helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

IDENTITY = {
    "FLOAT": "fp32", "DOUBLE": "fp64", "FLOAT16": "fp16", "BFLOAT16": "bf16", "INT8": "int8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "BOOL": "bool", "UINT32": "uint32", "STRING": "bytes",
}


def model(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "isthmus", inputs, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(made)
    return made.SerializeToString()


def simple():
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.INT32, [None, 16])
    return model(
        [helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
         helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])],
        [value("INPUT0"), value("INPUT1")], [value("OUTPUT0"), value("OUTPUT1")])


def identity(kind):
    value = lambda name: helper.make_tensor_value_info(name, getattr(TensorProto, kind), [None, None])
    return model([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], [value("INPUT0")], [value("OUTPUT0")])


def digits():
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x / 16, y, test_size=397, random_state=0)
    mlp = MLPClassifier((64,), max_iter=600, random_state=0).fit(x_train, y_train)
    print("digits: accuracy on 397 held-out samples", mlp.score(x_test, y_test))
    onnx = to_onnx(mlp, initial_types=[("image", FloatTensorType([None, 64]))],
                   options={id(mlp): {"zipmap": False}}, target_opset=17)
    sample = {"inputs": [{"name": "image", "shape": [1, 64], "datatype": "FP32", "data": x_test[0].tolist()}]}
    print("digits: the sample's label", y_test[0])
    data = onnx.SerializeToString()
    return data, sample


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def main(root):
    embedded = pathlib.Path(root, "src/main/resources/models")
    tested = pathlib.Path(root, "src/test/resources/models")
    data, sample = digits()
    written = [
        write(embedded / "digits/1/model.onnx", data),
        write(embedded / "digits/sample.json", (json.dumps(sample) + "\n").encode()),
        write(embedded / "simple/1/model.onnx", simple()),
    ]
    written += [write(tested / f"identity_{name}/1/model.onnx", identity(kind)) for kind, name in IDENTITY.items()]
    sums = "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(root)}\n" for p in written)
    pathlib.Path(root, "models/SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main(sys.argv[1])
