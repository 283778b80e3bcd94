#!/usr/bin/env python3
"""Writes models for omle-server: one identity for each datatype that OMLE has, and simple.

omle_models.py FOLDER, with the package omle; `omle-server --model-dir FOLDER` serves them. start.sh omle does both.
"""
import sys
from pathlib import Path

from omle import (Attribute, DataType, Expression, InputSpec, ModelMetadata, NamespaceImport, Node, NodeInput, NodeOutput, OMLEModel,
                  OutputSpec, TensorType, save)

DATATYPES = {"BOOL": DataType.BOOL, "INT8": DataType.INT8, "INT16": DataType.INT16, "INT32": DataType.INT32, "INT64": DataType.INT64,
             "UINT8": DataType.UINT8, "UINT16": DataType.UINT16, "UINT32": DataType.UINT32, "UINT64": DataType.UINT64,
             "FP16": DataType.FLOAT16, "FP32": DataType.FLOAT32, "FP64": DataType.FLOAT64, "BYTES": DataType.STRING}


def model(name, inputs, outputs, nodes):
    return OMLEModel(
        metadata=ModelMetadata(name=name, producer="oip-conformance"),
        operator_imports=[NamespaceImport(namespace="omle.core", version="0.1")],
        function_imports=[NamespaceImport(namespace="omle.functions", version="0.1")],
        inputs=[InputSpec(name=one, type=kind) for one, kind in inputs.items()],
        outputs=[OutputSpec(name=one, type=kind) for one, kind in outputs.items()], nodes=nodes)


def node(operator, inputs, output, kind, attributes=()):
    return Node(name=output, domain="omle.core", op=operator, inputs=[NodeInput(name=each) for each in inputs],
                outputs=[NodeOutput(name=output, type=kind)], attributes=list(attributes))


def identity(name, datatype):
    kind = TensorType(dtype=datatype, shape=[-1, -1])
    return model(name, {"INPUT0": kind}, {"OUTPUT0": kind}, [node("Identity", ["INPUT0"], "OUTPUT0", kind)])


def simple():
    """OUTPUT0 is the sum of the inputs, OUTPUT1 their difference."""
    kind = TensorType(dtype=DataType.INT32, shape=[-1, 16])
    inputs = ["INPUT0", "INPUT1"]
    nodes = [node("Derive", inputs, output, kind, [Attribute(name="expr", expr=Expression.from_apply(
        function, *map(Expression.from_ref, inputs)))]) for function, output in (("add", "OUTPUT0"), ("sub", "OUTPUT1"))]
    return model("simple", dict.fromkeys(inputs, kind), {"OUTPUT0": kind, "OUTPUT1": kind}, nodes)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for datatype, kind in DATATYPES.items():
        name = f"identity_{datatype.lower()}"
        save(identity(name, kind), folder / f"{name}.omle")
    save(simple(), folder / "simple.omle")


if __name__ == "__main__":
    main()
