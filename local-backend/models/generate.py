#!/usr/bin/env python3
"""Generates the models that the local backend embeds, and those of its tests. Usage: generate.py LOCAL_BACKEND_FOLDER

Needs: pip install scikit-learn==1.9.1 skl2onnx==1.20.0 onnx==1.23.2. The outputs are committed, with checksums: they are
not generated in the build, for the bytes vary with the versions of these packages.

  digits   FP32 image [-1,64] -> INT64 label [-1], FP32 probabilities [-1,10]: an MLP of 8x8 handwritten digits (the UCI
           data set that scikit-learn ships)
  simple   INT32 INPUT0, INPUT1 [-1,16] -> INT32 OUTPUT0 (sum), OUTPUT1 (difference), as in Triton's client examples

Of the tests:

  identity_*  each datatype [-1,-1], handed on
  iris        FP32 X [-1,4] -> BYTES label [-1], and a sequence of maps from label to score, by a ZipMap
  iris_int    the same with INT64 labels
  strings     BYTES left, right [-1] -> BYTES joined, INT64 code of left, BYTES back (the code's string)
  named       FP32 x [batch,4] and y [batch,4] -> FP32 sum [batch,4] and size [2]: shapes that are known before a run
  large       FP32 x [n], handed on: its shape is known before a run
  scalar      FP32 x [] and INT64 times [] -> FP32 product []
  nonzero     FP32 x [-1,-1] -> INT64 places [2,-1]: a shape that is known after a run only
  liar        FP32 x [n] -> INT64 places [n], which are as many as x has numbers that are not 0
  through     FP32 x [-1] is an output itself, beside y, the same negated
  gather      FP32 x [-1] and INT64 at [] -> FP32 y []: fails for places that x does not have
  sequence, optional, float8   have an output or input that V2 has no datatype for
"""
import hashlib
import json
import pathlib
import sys

from onnx import TensorProto, checker, helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

IDENTITY = {
    "FLOAT": "fp32", "DOUBLE": "fp64", "FLOAT16": "fp16", "BFLOAT16": "bf16", "INT8": "int8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "BOOL": "bool", "UINT32": "uint32", "STRING": "bytes",
    "UINT16": "uint16", "UINT64": "uint64",
}
STRINGS = ["a", "\U0001f600", "\u00e9\u4e2d", "", "x" * 300]


def model(nodes, inputs, outputs, opset=17, check=True):
    graph = helper.make_graph(nodes, "isthmus", inputs, outputs)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 4)]
    made = helper.make_model(graph, opset_imports=imports[:1 if opset == 17 else 2], ir_version=8)
    if check:
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


def tensor(name, kind, *shape):
    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)


def iris(integers):
    x, y = load_iris(return_X_y=True)
    labels = y if integers else load_iris().target_names[y]
    classifier = LogisticRegression(max_iter=500).fit(x, labels)
    onnx = to_onnx(classifier, initial_types=[("X", FloatTensorType([None, 4]))], target_opset=17)
    return onnx.SerializeToString()


def strings():
    node = helper.make_node
    codes = list(range(len(STRINGS)))
    ml = {"domain": "ai.onnx.ml"}
    return model(
        [node("StringConcat", ["left", "right"], ["joined"]),
         node("LabelEncoder", ["left"], ["code"], keys_strings=STRINGS, values_int64s=codes, default_int64=-1, **ml),
         node("LabelEncoder", ["code"], ["back"], keys_int64s=codes, values_strings=STRINGS, default_string="?", **ml)],
        [tensor("left", "STRING", None), tensor("right", "STRING", None)],
        [tensor("joined", "STRING", None), tensor("code", "INT64", None), tensor("back", "STRING", None)], opset=20)


def odd():
    """The models whose shapes, or types, are out of the ordinary, by name."""
    node = helper.make_node
    sequence = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
    optional = helper.make_value_info(
        "x", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [None])))
    return {
        "named": model([node("Add", ["x", "y"], ["sum"]), node("Shape", ["x"], ["size"])],
                       [tensor("x", "FLOAT", "batch", 4), tensor("y", "FLOAT", "batch", 4)],
                       [tensor("sum", "FLOAT", "batch", 4), tensor("size", "INT64", 2)]),
        "large": model([node("Identity", ["x"], ["y"])], [tensor("x", "FLOAT", "n")], [tensor("y", "FLOAT", "n")]),
        "scalar": model([node("Cast", ["times"], ["t"], to=TensorProto.FLOAT), node("Mul", ["x", "t"], ["product"])],
                        [tensor("x", "FLOAT"), tensor("times", "INT64")], [tensor("product", "FLOAT")]),
        "nonzero": model([node("NonZero", ["x"], ["places"])],
                         [tensor("x", "FLOAT", None, None)], [tensor("places", "INT64", 2, None)]),
        "liar": model([node("NonZero", ["x"], ["p"]), node("Squeeze", ["p"], ["places"])],
                      [tensor("x", "FLOAT", "n")], [tensor("places", "INT64", "n")]),
        "through": model([node("Neg", ["x"], ["y"])],
                         [tensor("x", "FLOAT", None)], [tensor("x", "FLOAT", None), tensor("y", "FLOAT", None)],
                         check=False),
        "gather": model([node("Gather", ["x", "at"], ["y"])],
                        [tensor("x", "FLOAT", None), tensor("at", "INT64")], [tensor("y", "FLOAT")]),
        "sequence": model([node("SplitToSequence", ["x"], ["parts"])], [tensor("x", "FLOAT", None)], [sequence]),
        "optional": model([node("OptionalGetElement", ["x"], ["y"])], [optional], [tensor("y", "FLOAT", None)], opset=18),
        "float8": model([node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN)],
                        [tensor("x", "FLOAT", None)], [tensor("y", "FLOAT8E4M3FN", None)], opset=19),
    }


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
    made = {**odd(), "strings": strings(), "iris": iris(False), "iris_int": iris(True)}
    written += [write(tested / f"{name}/1/model.onnx", data) for name, data in made.items()]
    sums = "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(root)}\n" for p in written)
    pathlib.Path(root, "models/SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    main(sys.argv[1])
