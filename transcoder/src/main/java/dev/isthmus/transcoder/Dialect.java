package dev.isthmus.transcoder;

import java.util.Locale;

/** How a server speaks the protocol, as far as servers differ in it (docs/protocol.md has the table). */
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

    /** Whether the fields 4 and 5 of InferParameter are known: double and unsigned 64-bit integers. */
    public boolean wideParameters() {
        return this != MLSERVER;
    }

    /** Whether a REST server takes any JSON value as a parameter, where the protocol has strings, numbers and booleans. */
    public boolean anyParameter() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server's JSON loses values (half floats refused, floats widened, text that is no UTF-8), so that
     * tensors go to it and come from it as binary data.
     */
    public boolean lossyJson() {
        return this == TRITON;
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

    /** Whether a REST server knows the binary tensor data extension though its metadata do not say so. */
    public boolean unannouncedBinary() {
        return this == KSERVE;
    }

    /** Whether a REST server takes this id: MLServer puts it into a header, and fails where it cannot stand there. */
    public boolean takesId(String id) {
        return this != MLSERVER || id.chars().allMatch(c -> c > 0x20 && c < 0x7f);
    }

    /** Whether versions of models can be asked for. */
    public boolean versions() {
        return this != KSERVE;
    }

    /** Whether ModelStreamInfer answers with ModelStreamInferResponse; otherwise with ModelInferResponse. */
    public boolean streamEnvelope() {
        return this == TRITON;
    }
}
