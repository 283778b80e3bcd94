package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.coding.InflationLimits;

/**
 * Limits on the size of bodies and messages.
 *
 * @param maxBytes of inference, generate and load requests, which may contain files; also after decompression
 * @param maxManagementBytes of any other operation
 * @param maxRatio of decompressed to compressed bytes
 */
public record BodyLimits(long maxBytes, long maxManagementBytes, int maxRatio) {
    private static final long MANAGEMENT = 64 << 10;

    public BodyLimits {
        maxManagementBytes = Math.min(maxManagementBytes, maxBytes);
    }

    /** The defaults with another limit for the largest bodies. */
    public static BodyLimits of(long maxBytes) {
        return new BodyLimits(maxBytes, MANAGEMENT, InflationLimits.DEFAULT_RATIO);
    }

    /** The limit on the body of a request. */
    long maxBytes(Operation operation) {
        return operation.largeBody() ? maxBytes : maxManagementBytes;
    }

    InflationLimits large() {
        return new InflationLimits(maxBytes, maxRatio);
    }

    InflationLimits small() {
        return new InflationLimits(maxManagementBytes, maxRatio);
    }
}
