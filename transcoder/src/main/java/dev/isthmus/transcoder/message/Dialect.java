package dev.isthmus.transcoder.message;

import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** A server's variant of the protocol (docs/reference/protocol.md has the table). */
public enum Dialect {
    /** Triton: prefers binary data over REST, supports every parameter type, streams ModelStreamInferResponse. */
    TRITON,
    /** MLServer: JSON only over REST, any JSON value as a parameter, no double and uint64 parameters over gRPC. */
    MLSERVER,
    /** KServe's Python server: no model versions. */
    KSERVE,
    /** Any other server, assumed to follow the protocol documents. */
    GENERIC;

    /** The dialect for the server name in the metadata. */
    public static Dialect ofServer(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "triton" -> TRITON;
            case "mlserver" -> MLSERVER;
            case "kserve" -> KSERVE;
            default -> GENERIC;
        };
    }

    /** The dialect of a server that lists these extensions, some of which only one server has. */
    public static Dialect ofExtensions(Collection<String> names) {
        if (names.contains("schedule_policy")) {
            return TRITON;
        }
        return names.contains("model_repository_extension") ? KSERVE : GENERIC;
    }

    /** The dialect of a server that says so that it has no model of this name, when it is asked for its metadata. */
    public static Dialect ofUnknownModel(String model, String text) {
        if (text.equals("Request for unknown model: '" + model + "' is not found")) {
            return TRITON;
        }
        if (text.equals("Model with name " + model + " does not exist.")) {
            return KSERVE;
        }
        // The second form is that of gRPC.
        return text.equals("Model " + model + " not found")
                        || text.equals("Model " + model + " with version  not found")
                ? MLSERVER
                : GENERIC;
    }

    /**
     * The extensions that the server supports without listing them: MLServer lists none, but has the model repository
     * extension.
     */
    public List<String> unnamedExtensions() {
        return this == MLSERVER ? List.of("model_repository") : List.of();
    }

    /** Whether fields 4 and 5 of InferParameter are supported: double and uint64. */
    public boolean wideParameters() {
        return this != MLSERVER;
    }

    /** Whether a REST server accepts any JSON value as a parameter; the protocol has strings, numbers and booleans. */
    public boolean anyParameter() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server with binary data loses values when it writes JSON (half floats rejected, floats widened,
     * NaN replaced by null, non-text bytes rejected), so that binary data is requested whatever the client requests.
     */
    public boolean lossyJson() {
        return this == TRITON || this == KSERVE;
    }

    /**
     * Whether binary outputs are requested from a REST server both by {@code binary_data_output} and by the {@code
     * binary_data} of each named output. KServe's models read one, its server the other; if they differ, it fails on an
     * output without elements.
     */
    public boolean binaryOutputTwice() {
        return this == KSERVE;
    }

    /** Whether models of a REST server may inspect an input's JSON, so that inputs received as plain JSON stay JSON. */
    public boolean mayInspectJson() {
        return this == KSERVE;
    }

    /**
     * How a REST server reads NaN and the infinities in JSON: as bare tokens or as null. Null is used only if required,
     * because it loses which of the three it was.
     */
    public NonFinite nonFinite() {
        return this == MLSERVER ? NonFinite.NULL : NonFinite.TOKEN;
    }

    /** Whether a server decodes BYTES sent as base64 with the parameter {@code content_type}. */
    public boolean base64() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server of this version supports the binary tensor data extension without listing it: KServe does
     * since 0.14.
     */
    public boolean unannouncedBinary(String version) {
        String[] parts = version.split("\\.", -1);
        if (this != KSERVE || parts.length < 2 || !(parts[0] + parts[1]).matches("[0-9]{1,8}")) {
            return false;
        }
        return Integer.parseInt(parts[0]) > 0 || Integer.parseInt(parts[1]) >= 14;
    }

    /**
     * Whether a server accepts this id: MLServer puts it into a header, and fails or hangs if it is not a valid header
     * value.
     */
    public boolean acceptsId(String id) {
        return this != MLSERVER || id.chars().allMatch(c -> c > 0x20 && c < 0x7f);
    }

    /**
     * Whether a gRPC server always responds with raw contents, so that requests may have them too. Others respond in
     * the form of the request.
     */
    public boolean alwaysRaw() {
        return this == TRITON;
    }

    /**
     * Whether a gRPC server accepts an empty {@code contents} beside raw contents, which MLServer's own client sends.
     */
    public boolean emptyContents() {
        return this == MLSERVER;
    }

    /**
     * Whether the response to a request with this id has the same one. In KServe the model's code writes it, and often a
     * new one.
     */
    public boolean repeatsId(String id) {
        return this != KSERVE && acceptsId(id);
    }

    /** Whether responses have the name of the requested model. In MLServer and KServe the model's code writes it. */
    public boolean repeatsModel() {
        return this == TRITON || this == GENERIC;
    }

    /** Whether model versions can be requested. */
    public boolean versions() {
        return this != KSERVE;
    }

    /** Whether a model consumes the whole stream of requests, and a model without streaming only the first request. */
    public boolean wholeStreams() {
        return this == MLSERVER;
    }

    /** Whether a REST server supports {@code infer_stream}, which responds with server-sent events. */
    public boolean eventsOverRest() {
        return this == MLSERVER;
    }

    /**
     * Whether a gRPC server's requests to load and unload name the model in their first field, where others have the
     * repository.
     */
    public boolean modelIsFirst() {
        return this == KSERVE;
    }

    /** Whether outputs may be classified: MLServer and KServe ignore it. */
    public boolean classifies() {
        return this != MLSERVER && this != KSERVE;
    }

    /** Whether a gRPC server supports ModelStreamInfer. */
    public boolean streams() {
        return this != KSERVE;
    }
}
