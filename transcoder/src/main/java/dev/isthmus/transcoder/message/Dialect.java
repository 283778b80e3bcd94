package dev.isthmus.transcoder.message;

import java.util.List;
import java.util.Locale;

/** How a server speaks the protocol, as far as servers differ in it (docs/reference/protocol.md has the table). */
public enum Dialect {
    /** Triton: wants binary data over REST, knows every parameter type, streams ModelStreamInferResponse. */
    TRITON,
    /** MLServer: JSON only over REST, any JSON as a parameter, no double and uint64 parameters over gRPC. */
    MLSERVER,
    /** KServe's Python server: knows no versions. */
    KSERVE,
    /** A server of another name: what the protocol documents say. */
    GENERIC;

    /** The dialect of a server that calls itself so in its metadata. */
    public static Dialect ofServer(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "triton" -> TRITON;
            case "mlserver" -> MLSERVER;
            case "kserve" -> KSERVE;
            default -> GENERIC;
        };
    }

    /** The extensions that servers have without saying so: MLServer names none, and has the model repository's. */
    public List<String> unnamedExtensions() {
        return this == MLSERVER ? List.of("model_repository") : List.of();
    }

    /** Whether the fields 4 and 5 of InferParameter are known: double and unsigned 64-bit integers. */
    public boolean wideParameters() {
        return this != MLSERVER;
    }

    /** Whether a REST server takes any JSON value as a parameter, where the protocol has strings, numbers and booleans. */
    public boolean anyParameter() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server that knows binary data loses values when it writes JSON (half floats refused, floats widened, NaN
     * made null, bytes that are no text refused), so that it is asked for binary data whatever its client wants.
     */
    public boolean lossyJson() {
        return this == TRITON || this == KSERVE;
    }

    /**
     * Whether a REST server is told of binary outputs by {@code binary_data_output} and by the {@code binary_data} of each
     * output that is named. KServe's models look at the one, its server at the other; where they differ, it fails on an output
     * without elements.
     */
    public boolean binaryOutputTwice() {
        return this == KSERVE;
    }

    /** Whether a model of a REST server may look at an input's JSON, so that what came as plain JSON stays JSON. */
    public boolean keepsJson() {
        return this == KSERVE;
    }

    /**
     * How a REST server reads NaN and the infinities in JSON: as bare words, or as null. Null only where it must be: which of
     * the three it was is lost.
     */
    public NonFinite nonFinite() {
        return this == MLSERVER ? NonFinite.NULL : NonFinite.TOKEN;
    }

    /** Whether a REST server decodes BYTES that come as base64 with the parameter {@code content_type}. */
    public boolean base64() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server of this version knows the binary tensor data extension though its metadata do not say so: KServe
     * does from 0.14 on.
     */
    public boolean unannouncedBinary(String version) {
        String[] parts = version.split("\\.", -1);
        if (this != KSERVE || parts.length < 2 || !(parts[0] + parts[1]).matches("[0-9]{1,8}")) {
            return false;
        }
        return Integer.parseInt(parts[0]) > 0 || Integer.parseInt(parts[1]) >= 14;
    }

    /** Whether a server takes this id: MLServer puts it into a header, and fails or hangs where it cannot stand there. */
    public boolean takesId(String id) {
        return this != MLSERVER || id.chars().allMatch(c -> c > 0x20 && c < 0x7f);
    }

    /**
     * Whether a gRPC server answers raw contents however it was asked, so that it may be asked so, too. Others answer typed
     * contents where they were asked with them.
     */
    public boolean alwaysRaw() {
        return this == TRITON;
    }

    /** Whether a gRPC server takes an empty {@code contents} beside raw contents, as MLServer's own client sends it. */
    public boolean emptyContents() {
        return this == MLSERVER;
    }

    /** Whether versions of models can be asked for. */
    public boolean versions() {
        return this != KSERVE;
    }

    /**
     * Whether a model takes the whole stream of requests as one, and a model that knows no streams only its first request.
     */
    public boolean wholeStreams() {
        return this == MLSERVER;
    }

    /** Whether a REST server has {@code infer_stream}, which answers with events. */
    public boolean eventsOverRest() {
        return this == MLSERVER;
    }

    /** Whether a gRPC server knows ModelStreamInfer. */
    public boolean streams() {
        return this != KSERVE;
    }
}
