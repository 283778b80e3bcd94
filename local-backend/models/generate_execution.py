#!/usr/bin/env python3
"""Generates the models for the tests of runs. Usage: generate_execution.py LOCAL_BACKEND_FOLDER

Needs: pip install onnx==1.23.2. The outputs are committed.

  turns     INT64 COUNT [-1,1] -> INT64 SAME [-1,1] (the input), ROWS [-1,1] (rows of this run), TURNS [-1,1]: a loop
            with as many iterations as the highest COUNT, so that a run lasts until it is terminated; a COUNT below -1
            fails the run
  positive  FP32 INPUT0 [-1] -> FP32 OUTPUT0 [-1]: the elements above 0, so that rows are lost
  endless   FP32 INPUT0 [-1,1] -> FP32 OUTPUT0 [-1,1]: a loop that never ends if the highest INPUT0 is 0; else the input
  sums      FP32 INPUT0 [-1,-1] -> FP32 SUM, MEAN, NORM [-1,1] of each row, PRODUCT [-1,-1] with its transpose: the
            order of the additions depends on the kernels
  unshaped  FP32 INPUT0 -> FP32 OUTPUT0, both without a shape: those above 0, else 0
  unknown   FP32 INPUT0 [1] -> FP32 OUTPUT0 [1]: an operator that ONNX Runtime does not know
  fixed     FP32 INPUT0 [1,2] -> FP32 OUTPUT0 [1,2]: the input; its first dimension is not a batch
"""
import pathlib
import sys

from onnx import TensorProto, checker, helper

INT64, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, *numbers, shape=None):
    return helper.make_tensor(name, INT64, [len(numbers)] if shape is None else shape, numbers)


def unchecked(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "isthmus", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def model(nodes, inputs, outputs, constants=()):
    made = unchecked(nodes, inputs, outputs, constants)
    checker.check_model(made)
    return made.SerializeToString()


def turns():
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]), helper.make_node("Add", ["turn", "one"], ["turned"])],
        "turn", [value("i", INT64, []), value("go_on", BOOL, []), value("turn", INT64, [])],
        [value("still", BOOL, []), value("turned", INT64, [])], [constant("one", 1, shape=[])])
    nodes = [
        helper.make_node("Shape", ["COUNT"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Expand", ["rows", "shape"], ["ROWS"]),
        helper.make_node("Min", ["COUNT", "first"], ["negative"]),
        # There is one element: -1 is the last, and anything below is out of bounds.
        helper.make_node("Gather", ["first", "negative"], ["none"]),
        helper.make_node("Add", ["COUNT", "none"], ["SAME"]),
        helper.make_node("ReduceMax", ["SAME"], ["most"], keepdims=0),
        helper.make_node("Loop", ["most", "", "zero"], ["turned"], body=body),
        helper.make_node("Expand", ["turned", "shape"], ["TURNS"]),
    ]
    rows = lambda name: value(name, INT64, [None, 1])
    return model(nodes, [rows("COUNT")], [rows("SAME"), rows("ROWS"), rows("TURNS")],
                 [constant("first", 0), constant("zero", 0, shape=[])])


def positive():
    nodes = [
        helper.make_node("Sub", ["INPUT0", "INPUT0"], ["zero"]),
        helper.make_node("Greater", ["INPUT0", "zero"], ["above"]),
        helper.make_node("Compress", ["INPUT0", "above"], ["OUTPUT0"], axis=0),
    ]
    return model(nodes, [value("INPUT0", FLOAT, [None])], [value("OUTPUT0", FLOAT, [None])])


def fixed():
    return model([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], [value("INPUT0", FLOAT, [1, 2])],
                 [value("OUTPUT0", FLOAT, [1, 2])])


def endless():
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]), helper.make_node("Identity", ["values"], ["same"])],
        "turn", [value("i", INT64, []), value("go_on", BOOL, []), value("values", FLOAT, [None, 1])],
        [value("still", BOOL, []), value("same", FLOAT, [None, 1])])
    nodes = [
        helper.make_node("ReduceMax", ["INPUT0"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["any"], to=BOOL),
        helper.make_node("Not", ["any"], ["go_on"]),
        helper.make_node("Loop", ["", "go_on", "INPUT0"], ["OUTPUT0"], body=body),
    ]
    return model(nodes, [value("INPUT0", FLOAT, [None, 1])], [value("OUTPUT0", FLOAT, [None, 1])])


def sums():
    nodes = [
        helper.make_node("ReduceSum", ["INPUT0", "last"], ["SUM"]),
        helper.make_node("ReduceMean", ["INPUT0"], ["MEAN"], axes=[1]),
        helper.make_node("ReduceL2", ["INPUT0"], ["NORM"], axes=[1]),
        helper.make_node("Gemm", ["INPUT0", "INPUT0"], ["PRODUCT"], transB=1),
    ]
    outputs = [value(name, FLOAT, [None, 1]) for name in ["SUM", "MEAN", "NORM"]] + [value("PRODUCT", FLOAT, [None, None])]
    return model(nodes, [value("INPUT0", FLOAT, [None, None])], outputs, [constant("last", 1)])


def unshaped():
    relu = helper.make_node("Relu", ["INPUT0"], ["OUTPUT0"])
    return unchecked([relu], [value("INPUT0", FLOAT, None)], [value("OUTPUT0", FLOAT, None)]).SerializeToString()


def unknown():
    node = helper.make_node("Adagrad", ["INPUT0"], ["OUTPUT0"])
    return unchecked([node], [value("INPUT0", FLOAT, [1])], [value("OUTPUT0", FLOAT, [1])]).SerializeToString()


def main(root):
    for name, data in {"turns": turns(), "positive": positive(), "fixed": fixed(), "endless": endless(),
                       "sums": sums(), "unshaped": unshaped(), "unknown": unknown()}.items():
        path = pathlib.Path(root, f"src/test/resources/execution/{name}.onnx")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1])
