package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.Operation;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The operation label of metrics. */
public enum OperationKind {
    SERVER_LIVE,
    SERVER_READY,
    GATEWAY_READY,
    HEALTH,
    REFLECTION,
    SERVER_METADATA,
    MODEL_READY,
    MODEL_METADATA,
    OPENAPI,
    INFER,
    INFER_STREAM,
    GENERATE,
    GENERATE_STREAM,
    MANAGE,
    UNKNOWN;

    private final String label = name().toLowerCase(Locale.ROOT);

    /** The label in metrics and logs. */
    public String label() {
        return label;
    }

    /**
     * The kind of an operation.
     *
     * @param operation null for a request that was rejected before its operation was known
     */
    public static OperationKind of(@Nullable Operation operation) {
        return switch (operation) {
            case null -> UNKNOWN;
            case Operation.ServerLive request -> SERVER_LIVE;
            case Operation.CheckHealth request -> HEALTH;
            case Operation.Reflect request -> REFLECTION;
            case Operation.ServerReady request -> SERVER_READY;
            case Operation.GatewayReady request -> GATEWAY_READY;
            case Operation.ReadServerMetadata request -> SERVER_METADATA;
            case Operation.ModelReady request -> MODEL_READY;
            case Operation.ReadModelMetadata request -> MODEL_METADATA;
            case Operation.DescribeApi request -> OPENAPI;
            case Operation.Infer infer -> infer.stream() ? INFER_STREAM : INFER;
            case Operation.InferStream stream -> INFER_STREAM;
            case Operation.Generate generate -> generate.stream() ? GENERATE_STREAM : GENERATE;
            case Operation.Manage manage -> MANAGE;
        };
    }
}
