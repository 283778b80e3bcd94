package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.coding.InflationLimits;

/**
 * How large bodies and messages may be.
 *
 * @param maxBytes of an inference, generate or load, which may bring files; also after decompression
 * @param maxManagementBytes of any other operation
 * @param maxRatio of decompressed bytes to compressed ones
 */
public record BodyLimits(long maxBytes, long maxManagementBytes, int maxRatio) {
    private static final long MANAGEMENT = 64 << 10;

    public BodyLimits {
        maxManagementBytes = Math.min(maxManagementBytes, maxBytes);
    }

    /** The default but for the largest bodies. */
    public static BodyLimits of(long maxBytes) {
        return new BodyLimits(maxBytes, MANAGEMENT, InflationLimits.DEFAULT_RATIO);
    }

    InflationLimits of(Operation operation) {
        return switch (operation) {
            case Operation.Infer infer -> large();
            case Operation.InferStream stream -> large();
            case Operation.Generate generate -> large();
            case Operation.Manage manage -> manage.extension().carriesFiles() ? large() : small();
            case Operation.ServerLive ask -> small();
            case Operation.ServerReady ask -> small();
            case Operation.GatewayReady ask -> small();
            case Operation.ReadServerMetadata ask -> small();
            case Operation.ModelReady ask -> small();
            case Operation.ReadModelMetadata ask -> small();
        };
    }

    InflationLimits large() {
        return new InflationLimits(maxBytes, maxRatio);
    }

    InflationLimits small() {
        return new InflationLimits(maxManagementBytes, maxRatio);
    }
}
