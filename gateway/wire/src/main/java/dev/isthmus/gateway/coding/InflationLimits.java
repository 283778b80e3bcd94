package dev.isthmus.gateway.coding;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;

/**
 * What compressed content may become.
 *
 * @param maxBytes of decoded content
 * @param maxRatio of decoded bytes to those that came for them, beyond {@link #FREE} bytes
 */
public record InflationLimits(long maxBytes, int maxRatio) {
    public static final int DEFAULT_RATIO = 100;
    /** Decoded bytes for which the ratio does not matter: a small tensor of zeros is no attack. */
    static final long FREE = 1 << 20;

    /**
     * Looks at what was decoded so far.
     *
     * @throws OipException PAYLOAD_TOO_LARGE where it is too much
     */
    void check(long compressed, long decoded) {
        if (decoded > maxBytes) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE, "decompressed content: at most " + maxBytes + " bytes are taken");
        }
        if (decoded > FREE && decoded / maxRatio >= compressed) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    "decompressed content: at most " + maxRatio + " bytes are taken for each compressed one, got "
                            + decoded + " for " + compressed);
        }
    }
}
