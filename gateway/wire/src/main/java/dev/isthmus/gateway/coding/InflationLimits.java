package dev.isthmus.gateway.coding;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;

/**
 * Limits on the expansion of compressed content.
 *
 * @param maxBytes of decoded content
 * @param maxRatio of decoded to compressed bytes, enforced from the first {@link #FREE} decoded bytes on at each point
 *     of the content, so that it does not matter how much of it has been received
 */
public record InflationLimits(long maxBytes, int maxRatio) {
    public static final int DEFAULT_RATIO = 100;
    /** Decoded bytes below which the ratio is not checked: a small tensor of zeros is not an attack. */
    static final long FREE = 1 << 20;

    /**
     * Checks the number of bytes decoded so far.
     *
     * @param compressed bytes that became them
     * @throws OipException PAYLOAD_TOO_LARGE if it exceeds a limit
     */
    void check(long compressed, long decoded) {
        if (decoded > maxBytes) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE, "decompressed content: at most " + maxBytes + " bytes are accepted");
        }
        if (decoded > FREE && decoded > maxRatio * compressed) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    "decompressed content: at most " + maxRatio + " bytes are accepted for each compressed one, got "
                            + decoded + " for " + compressed);
        }
    }
}
