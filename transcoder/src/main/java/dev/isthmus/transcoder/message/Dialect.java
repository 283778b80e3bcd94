package dev.isthmus.transcoder.message;

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
    /** OpenVINO Model Server, from 2023.0 on: loses values in JSON, lists no extensions, streams graphs only. */
    OVMS,
    /** Any other server, assumed to follow the protocol documents. */
    GENERIC;

    /** The value of the key {@code dialect} in the configuration. */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The dialect for the server name in the metadata. */
    public static Dialect ofServer(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "triton" -> TRITON;
            case "mlserver" -> MLSERVER;
            case "kserve" -> KSERVE;
            case "openvino model server" -> OVMS;
            default -> GENERIC;
        };
    }

    /** The dialect of a server that lists this extension, if only one server has it. */
    public static Dialect ofExtension(String name) {
        return switch (name) {
            case "schedule_policy" -> TRITON;
            case "model_repository_extension" -> KSERVE;
            default -> GENERIC;
        };
    }

    /** The dialect of a server that says so that it has no model of this name, when it is asked for its metadata. */
    public static Dialect ofUnknownModel(String model, String text) {
        return switch (text.replace(model, "MODEL")) {
            case "Request for unknown model: 'MODEL' is not found" -> TRITON;
            // The second form is that of gRPC.
            case "Model MODEL not found", "Model MODEL with version  not found" -> MLSERVER;
            case "Model with name MODEL does not exist." -> KSERVE;
            case "Model with requested name is not found" -> OVMS;
            default -> GENERIC;
        };
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
        return this != MLSERVER && this != OVMS;
    }

    /** Whether a REST server accepts any JSON value as a parameter; the protocol has strings, numbers and booleans. */
    public boolean anyParameter() {
        return this == MLSERVER;
    }

    /**
     * Whether a REST server with binary data loses values when it reads or writes JSON (half floats and integers of more
     * than 32 bits rejected, floats widened, doubles narrowed, NaN replaced by null, non-text bytes rejected), so that
     * binary data is sent and requested whatever the client does.
     */
    public boolean lossyJson() {
        return this != MLSERVER && this != GENERIC;
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
     * Whether a REST server of this version supports the binary tensor data extension without listing it: OpenVINO Model
     * Server always does, KServe since 0.14.
     */
    public boolean unannouncedBinary(String version) {
        String since14 = "(0\\.(1[4-9]|[2-9]\\d|\\d{3,})|[1-9]\\d*\\.\\d+)(\\..*)?";
        return this == OVMS || (this == KSERVE && version.matches(since14));
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
        return this == TRITON || this == OVMS;
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
        return this != MLSERVER && this != KSERVE;
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

    /** Whether outputs may be classified: the others ignore it. */
    public boolean classifies() {
        return this == TRITON || this == GENERIC;
    }

    /** Whether a gRPC server supports ModelStreamInfer. */
    public boolean streams() {
        return this != KSERVE;
    }
}
