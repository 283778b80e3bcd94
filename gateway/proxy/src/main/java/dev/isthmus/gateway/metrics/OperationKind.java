package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ModelRef;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Operations as metrics tell them apart. */
enum OperationKind {
    SERVER_LIVE,
    SERVER_READY,
    GATEWAY_READY,
    SERVER_METADATA,
    MODEL_READY,
    MODEL_METADATA,
    INFER,
    INFER_STREAM,
    GENERATE,
    GENERATE_STREAM,
    MANAGE;

    private final String label = name().toLowerCase(Locale.ROOT);

    String label() {
        return label;
    }

    static OperationKind of(Operation operation) {
        return switch (operation) {
            case Operation.ServerLive ask -> SERVER_LIVE;
            case Operation.ServerReady ask -> SERVER_READY;
            case Operation.GatewayReady ask -> GATEWAY_READY;
            case Operation.ReadServerMetadata ask -> SERVER_METADATA;
            case Operation.ModelReady ask -> MODEL_READY;
            case Operation.ReadModelMetadata ask -> MODEL_METADATA;
            case Operation.Infer infer -> infer.stream() ? INFER_STREAM : INFER;
            case Operation.InferStream stream -> INFER_STREAM;
            case Operation.Generate generate -> generate.stream() ? GENERATE_STREAM : GENERATE;
            case Operation.Manage manage -> MANAGE;
        };
    }

    /** The model that is asked for; null where the operation names none, or one with each of its messages. */
    static @Nullable ModelRef model(Operation operation) {
        return switch (operation) {
            case Operation.ServerLive ask -> null;
            case Operation.ServerReady ask -> null;
            case Operation.GatewayReady ask -> null;
            case Operation.ReadServerMetadata ask -> null;
            case Operation.ModelReady ask -> ask.model();
            case Operation.ReadModelMetadata ask -> ask.model();
            case Operation.Infer infer -> infer.model();
            case Operation.InferStream stream -> null;
            case Operation.Generate generate -> generate.model();
            case Operation.Manage manage -> manage.model().name().isEmpty() ? null : manage.model();
        };
    }
}
