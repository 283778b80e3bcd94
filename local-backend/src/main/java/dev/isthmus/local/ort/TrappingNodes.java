package dev.isthmus.local.ort;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.onnx.AttributeProto;
import dev.isthmus.proto.onnx.FunctionProto;
import dev.isthmus.proto.onnx.GraphProto;
import dev.isthmus.proto.onnx.ModelProto;
import dev.isthmus.proto.onnx.NodeProto;
import dev.isthmus.proto.onnx.TensorProto;
import java.util.ArrayList;
import java.util.List;

/**
 * Guards the nodes with which certain values of a request end the process: ONNX Runtime divides integers of 32 and 64
 * bits with the processor's instruction, which traps if the least number is divided by -1, DFT and STFT divide by the
 * length of an empty signal, frame or window, and Trilu reads outside of its input at diagonals that exceed any matrix.
 * Such a node gets equivalent inputs, made by nodes before it. They fit every type, so that a node whose type the file
 * does not say is guarded too. Division by zero is refused by ONNX Runtime itself.
 */
@SuppressWarnings("ReferenceEquality") // what is not changed is the same object
final class TrappingNodes {
    /** Where, which the guard needs, exists from this version of ONNX's operators on. */
    private static final long SINCE = 9;

    /** From this version on DFT's axis is an input. */
    private static final long AXIS_INPUT = 20;

    private static final int WINDOW = 2;
    private static final int FRAME_LENGTH = 3;
    private static final String INT_MOD = "fmod";
    private static final int TENSOR = 4;
    private static final int INT = 2;

    private final List<NodeProto> nodes = new ArrayList<>();
    private final long version;
    private boolean changed;

    private TrappingNodes(long version) {
        this.version = version;
    }

    /**
     * A model with the same outputs that does not trap; the given one if no node of it can.
     *
     * @throws OipException FAILED_PRECONDITION if that cannot be made
     */
    static ModelProto guarded(ModelProto model) {
        GraphProto graph =
                guarded(model.getGraph(), new ValueScope(null), OnnxProto.version(model.getOpsetImportList()));
        ModelProto.Builder guarded = model.toBuilder();
        boolean changed = graph != model.getGraph();
        for (int i = 0; i < model.getFunctionsCount(); i++) {
            FunctionProto function = model.getFunctions(i);
            TrappingNodes body = new TrappingNodes(OnnxProto.version(function.getOpsetImportList()));
            body.add(function.getNodeList(), new ValueScope(null));
            if (body.changed) {
                guarded.setFunctions(i, function.toBuilder().clearNode().addAllNode(body.nodes));
                changed = true;
            }
        }
        return changed ? guarded.setGraph(graph).build() : model;
    }

    private static GraphProto guarded(GraphProto graph, ValueScope scope, long version) {
        TrappingNodes body = new TrappingNodes(version);
        body.add(graph.getNodeList(), scope.declare(graph));
        return body.changed
                ? graph.toBuilder().clearNode().addAllNode(body.nodes).build()
                : graph;
    }

    private void add(List<NodeProto> all, ValueScope scope) {
        for (NodeProto node : all) {
            NodeProto inner = withGuardedBodies(node, scope);
            nodes.add(guarded(inner, scope));
            changed |= nodes.getLast() != node;
            scope.add(node);
        }
    }

    private NodeProto guarded(NodeProto node, ValueScope scope) {
        if (divides(node, scope)) {
            return divided(node);
        }
        return switch (node.getOpType()) {
            case "Trilu" -> given(node, 1) ? triangle(node) : node;
            case "DFT" -> given(node, 0) && OnnxProto.own(node.getDomain()) ? transform(node) : node;
            case "STFT" -> OnnxProto.own(node.getDomain()) ? frames(node) : node;
            default -> node;
        };
    }

    /** The bodies of If, Loop, Scan and the like. */
    private NodeProto withGuardedBodies(NodeProto node, ValueScope scope) {
        NodeProto.Builder guarded = null;
        for (int i = 0; i < node.getAttributeCount(); i++) {
            AttributeProto attribute = node.getAttribute(i);
            AttributeProto.Builder inner = attribute.toBuilder();
            boolean found = false;
            if (attribute.hasG()) {
                inner.setG(guarded(attribute.getG(), new ValueScope(scope), version));
                found = inner.getG() != attribute.getG();
            }
            for (int g = 0; g < attribute.getGraphsCount(); g++) {
                inner.setGraphs(g, guarded(attribute.getGraphs(g), new ValueScope(scope), version));
                found |= inner.getGraphs(g) != attribute.getGraphs(g);
            }
            if (found) {
                guarded = guarded == null ? node.toBuilder() : guarded;
                guarded.setAttribute(i, inner);
            }
        }
        return guarded == null ? node : guarded.build();
    }

    private static boolean is(NodeProto node, String type, int inputs) {
        return node.getOpType().equals(type)
                && OnnxProto.own(node.getDomain())
                && node.getInputCount() == inputs
                && node.getOutputCount() == 1;
    }

    private static boolean divides(NodeProto node, ValueScope scope) {
        // The remainder of C's fmod is computed with floating-point numbers.
        boolean floats =
                ValueScope.attribute(node, INT_MOD, AttributeProto::getI).orElse(0L) != 0;
        return (is(node, "Div", 2) || (is(node, "Mod", 2) && !floats))
                && mayBeInt(scope.type(node.getInput(0)))
                && mayBeInt(scope.type(node.getInput(1)))
                && mayBeInt(scope.type(node.getOutput(0)))
                && !scope.excludes(node.getInput(1), -1);
    }

    private static boolean mayBeInt(int type) {
        return type == ValueScope.UNKNOWN || type == ValueScope.INT32 || type == ValueScope.INT64;
    }

    /** Where the divisor is -1, both operands are negated, by which the least number stays itself: it has no positive. */
    private NodeProto divided(NodeProto node) {
        if (version < SINCE) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "node '" + node.getName() + "': Div of integers needs opset " + SINCE + " or later, got " + version
                            + ": some values would end the process");
        }
        String names = names(node);
        String dividend = node.getInput(0);
        String divisor = node.getInput(1);
        nodes.add(constant(names + "least", -1));
        nodes.add(wide(divisor, names));
        nodes.add(OnnxProto.node("Equal", names + "negates", names + "wide", names + "least"));
        nodes.add(OnnxProto.node("Abs", names + "one", divisor));
        nodes.add(OnnxProto.node("Where", names + "divisor", names + "negates", names + "one", divisor));
        NodeProto.Builder guarded = node.toBuilder().setInput(1, names + "divisor");
        // A remainder by 1 is 0, as one by -1.
        if (node.getOpType().equals("Div")) {
            nodes.add(OnnxProto.node("Neg", names + "negative", dividend));
            nodes.add(OnnxProto.node("Where", names + "dividend", names + "negates", names + "negative", dividend));
            guarded.setInput(0, names + "dividend");
        }
        return guarded.build();
    }

    private static boolean given(NodeProto node, int input) {
        return node.getOutputCount() > 0
                && input < node.getInputCount()
                && !node.getInput(input).isEmpty();
    }

    private NodeProto triangle(NodeProto node) {
        String names = names(node);
        nodes.add(constant(names + "least", Integer.MIN_VALUE));
        nodes.add(constant(names + "most", Integer.MAX_VALUE));
        nodes.add(OnnxProto.node("Max", names + "limited", node.getInput(1), names + "least"));
        nodes.add(OnnxProto.node("Min", names + "diagonal", names + "limited", names + "most"));
        return node.toBuilder().setInput(1, names + "diagonal").build();
    }

    /** The length of an empty signal becomes one that is refused. */
    private NodeProto transform(NodeProto node) {
        String names = names(node);
        String axis = given(node, 2) ? node.getInput(2) : names + "axis";
        if (!given(node, 2)) {
            long byDefault = version < AXIS_INPUT ? 1 : -2;
            nodes.add(constant(
                    axis,
                    ValueScope.attribute(node, "axis", AttributeProto::getI).orElse(byDefault)));
        }
        nodes.add(OnnxProto.node("Shape", names + "shape", node.getInput(0)));
        nodes.add(OnnxProto.node("Gather", names + "samples", names + "shape", axis));
        String length = given(node, 1) ? node.getInput(1) : names + "samples";
        return withInput(node, 1, refusedIfZero(length, names + "samples", names));
    }

    /** The length of the frames, or of the window that has it, becomes one that is refused if it is 0. */
    private NodeProto frames(NodeProto node) {
        String names = names(node);
        if (given(node, FRAME_LENGTH)) {
            String length = node.getInput(FRAME_LENGTH);
            nodes.add(wide(length, names));
            return withInput(node, FRAME_LENGTH, refusedIfZero(length, names + "wide", names));
        }
        if (given(node, WINDOW)) {
            nodes.add(OnnxProto.node("Size", names + "window", node.getInput(WINDOW)));
            return withInput(node, FRAME_LENGTH, refusedIfZero(names + "window", names + "window", names));
        }
        return node;
    }

    private String refusedIfZero(String length, String count, String names) {
        nodes.add(constant(names + "none", 0));
        nodes.add(constant(names + "least", -1));
        nodes.add(OnnxProto.node("CastLike", names + "negative", names + "least", length));
        nodes.add(OnnxProto.node("Equal", names + "empty", count, names + "none"));
        nodes.add(OnnxProto.node("Where", names + "length", names + "empty", names + "negative", length));
        return names + "length";
    }

    private static NodeProto withInput(NodeProto node, int at, String value) {
        NodeProto.Builder changed = node.toBuilder();
        while (changed.getInputCount() <= at) {
            changed.addInput("");
        }
        return changed.setInput(at, value).build();
    }

    /** Names in a graph are unique, and so are those with the node's output in front. */
    private static String names(NodeProto node) {
        return node.getOutput(0) + "/isthmus/";
    }

    private static NodeProto wide(String value, String names) {
        return OnnxProto.node("Cast", names + "wide", value).toBuilder()
                .addAttribute(
                        AttributeProto.newBuilder().setName("to").setType(INT).setI(ValueScope.INT64))
                .build();
    }

    private static NodeProto constant(String name, long value) {
        TensorProto tensor = TensorProto.newBuilder()
                .setDataType(ValueScope.INT64)
                .addInt64Data(value)
                .build();
        return OnnxProto.node("Constant", name).toBuilder()
                .addAttribute(AttributeProto.newBuilder()
                        .setName("value")
                        .setType(TENSOR)
                        .setT(tensor))
                .build();
    }
}
