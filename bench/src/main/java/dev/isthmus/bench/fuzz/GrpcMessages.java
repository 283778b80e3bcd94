package dev.isthmus.bench.fuzz;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import java.io.ByteArrayOutputStream;
import java.util.List;

/** Generates gRPC messages of the protocol, valid and invalid. */
final class GrpcMessages {
    static final String SERVICE = "/inference.GRPCInferenceService/";
    static final List<String> METHODS = List.of(
            "ServerLive",
            "ServerReady",
            "ModelReady",
            "ServerMetadata",
            "ModelMetadata",
            "ModelInfer",
            "ModelStreamInfer",
            "RepositoryIndex",
            "RepositoryModelLoad",
            "RepositoryModelUnload",
            "ModelConfig",
            "ModelStatistics",
            "TraceSetting",
            "LogSettings",
            "SystemSharedMemoryStatus",
            "SystemSharedMemoryRegister",
            "SystemSharedMemoryUnregister",
            "CudaSharedMemoryStatus",
            "CudaSharedMemoryRegister",
            "CudaSharedMemoryUnregister",
            "Nothing");

    private final SeededChoices choices;
    private final double mistakes;

    GrpcMessages(SeededChoices choices) {
        this.choices = choices;
        this.mistakes = choices.pick(0.0, 0.1, 0.4);
    }

    String method() {
        return choices.chance(0.5) ? "ModelInfer" : choices.chance(0.4) ? "ModelStreamInfer" : choices.pick(METHODS);
    }

    /** A message with its prefix, which may be wrong. */
    byte[] framed(byte[] message) {
        boolean compressed = choices.chance(0.08);
        byte[] bytes = compressed
                ? Http1Requests.gzip(choices.chance(0.2) ? new byte[choices.size(32 << 20)] : message)
                : message;
        if (compressed && choices.chance(0.1)) {
            bytes = choices.spoil(bytes);
        }
        int length = choices.chance(mistakes / 4) ? (int) choices.number() : bytes.length;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(compressed ? 1 : choices.chance(mistakes / 8) ? choices.below(256) : 0);
        out.write(length >>> 24);
        out.write(length >>> 16);
        out.write(length >>> 8);
        out.write(length);
        out.writeBytes(bytes);
        return out.toByteArray();
    }

    byte[] message(String method) {
        return spoiled(
                switch (method) {
                    case "ModelInfer", "ModelStreamInfer" -> infer().toByteArray();
                    case "RepositoryModelLoad", "RepositoryModelUnload" ->
                        RepositoryModelLoadRequest.newBuilder()
                                .setModelName(choices.pick("simple", "wild", "nothing"))
                                .build()
                                .toByteArray();
                    default ->
                        ModelMetadataRequest.newBuilder()
                                .setName(choices.pick(Http1Requests.MODELS))
                                .build()
                                .toByteArray();
                });
    }

    private ModelInferRequest infer() {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder()
                .setModelName(choices.pick(Http1Requests.MODELS))
                .setId(choices.chance(0.5) ? Long.toString(choices.number()) : "");
        if (choices.chance(0.1)) {
            request.setModelVersion(choices.pick("1", "7", "x/y"));
        }
        boolean raw = choices.chance(0.7);
        int inputs = choices.chance(0.95) ? choices.between(1, 3) : choices.size(5_000);
        for (int i = 0; i < inputs; i++) {
            input(request, "x" + i, raw, inputs < 4);
        }
        if (choices.chance(0.1)) {
            int count = choices.size(2_000);
            for (int i = 0; i < count; i++) {
                request.putParameters(
                        "p" + i, InferParameter.newBuilder().setInt64Param(i).build());
            }
        }
        if (choices.chance(0.1)) {
            request.putParameters(
                    "sequence_id",
                    InferParameter.newBuilder().setUint64Param(choices.below(9)).build());
        }
        return request.build();
    }

    private void input(ModelInferRequest.Builder request, String name, boolean raw, boolean large) {
        String type = choices.pick(JsonTexts.TYPES);
        int elements = choices.size(large ? (choices.chance(0.15) ? 200_000 : 2_000) : 4);
        ModelInferRequest.InferInputTensor.Builder input =
                ModelInferRequest.InferInputTensor.newBuilder().setName(name).setDatatype(type);
        input.addShape(choices.chance(mistakes / 2) ? choices.number() : elements);
        if (raw) {
            int bytes = type.equals("BYTES") ? 0 : elements * width(type);
            request.addRawInputContents(
                    ByteString.copyFrom(new byte[choices.chance(1 - mistakes / 2) ? bytes : choices.size(bytes + 9)]));
            if (type.equals("BYTES")) {
                input.setShape(0, 0);
            }
        } else {
            InferTensorContents.Builder contents = InferTensorContents.newBuilder();
            for (int i = 0; i < Math.min(elements, 3_000); i++) {
                add(contents, type, i);
            }
            input.setContents(contents);
        }
        request.addInputs(input);
    }

    private static void add(InferTensorContents.Builder contents, String type, int value) {
        switch (type) {
            case "BOOL" -> contents.addBoolContents(true);
            case "INT8", "INT16", "INT32" -> contents.addIntContents(value);
            case "INT64" -> contents.addInt64Contents(value);
            case "UINT8", "UINT16", "UINT32" -> contents.addUintContents(value);
            case "UINT64" -> contents.addUint64Contents(value);
            case "FP64" -> contents.addFp64Contents(value);
            case "BYTES" -> contents.addBytesContents(ByteString.copyFromUtf8("b"));
            default -> contents.addFp32Contents(value);
        }
    }

    static int width(String type) {
        return switch (type) {
            case "BOOL", "INT8", "UINT8" -> 1;
            case "INT16", "UINT16", "FP16", "BF16" -> 2;
            case "INT64", "UINT64", "FP64" -> 8;
            default -> 4;
        };
    }

    /** The message with fields added before or after it, or with bytes changed. */
    byte[] spoiled(byte[] message) {
        if (!choices.chance(mistakes)) {
            return message;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        boolean before = choices.chance(0.5);
        if (!before) {
            out.writeBytes(message);
        }
        int fields = choices.chance(0.9) ? choices.below(5) : choices.size(20_000);
        for (int i = 0; i < fields; i++) {
            field(out, fields > 100);
        }
        if (before) {
            out.writeBytes(message);
        }
        return choices.spoil(out.toByteArray());
    }

    private void field(ByteArrayOutputStream out, boolean brief) {
        int number = choices.pick(1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 2047, (1 << 29) - 1, 0);
        switch (choices.below(brief ? 3 : 7)) {
            case 0 -> {
                tag(out, number, 0);
                varint(out, choices.number());
            }
            case 1 -> {
                tag(out, number, choices.pick(1, 5));
                out.writeBytes(new byte[choices.chance(0.5) ? 8 : 4]);
            }
            case 2 -> {
                tag(out, number, 2);
                int length = choices.size(20);
                varint(out, choices.chance(0.9) ? length : choices.number());
                out.writeBytes(choices.bytes(length));
            }
            case 3 -> { // groups in groups
                int depth = choices.size(choices.chance(0.3) ? 200_000 : 120);
                for (int i = 0; i < depth; i++) {
                    tag(out, number, 3);
                }
                for (int i = 0; i < (choices.chance(0.5) ? depth : choices.below(depth + 1)); i++) {
                    tag(out, number, 4);
                }
            }
            case 4 -> { // messages in messages
                byte[] inner = new byte[0];
                int depth = choices.size(120);
                for (int i = 0; i < depth; i++) {
                    ByteArrayOutputStream outer = new ByteArrayOutputStream();
                    tag(outer, number, 2);
                    varint(outer, inner.length);
                    outer.writeBytes(inner);
                    inner = outer.toByteArray();
                }
                out.writeBytes(inner);
            }
            case 5 -> { // an overlong varint
                tag(out, number, 0);
                int length = choices.size(20);
                for (int i = 0; i < length; i++) {
                    out.write(0x80);
                }
                out.write(choices.below(128));
            }
            default -> tag(out, number, choices.between(6, 7));
        }
    }

    private static void tag(ByteArrayOutputStream out, int number, int wire) {
        varint(out, ((long) number << 3 | wire) & 0xffffffffL);
    }

    private static void varint(ByteArrayOutputStream out, long value) {
        long left = value;
        while ((left & ~0x7fL) != 0) {
            out.write((int) (left & 0x7f | 0x80));
            left >>>= 7;
        }
        out.write((int) left);
    }
}
