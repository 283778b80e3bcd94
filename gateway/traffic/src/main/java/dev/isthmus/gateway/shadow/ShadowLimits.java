package dev.isthmus.gateway.shadow;

/**
 * Limits for all copies of a process together.
 *
 * @param heldBytes of requests and responses that would otherwise be released; copies beyond are dropped
 * @param responseBytes of a compared response; larger ones are left out
 * @param queued comparisons; more are dropped
 */
public record ShadowLimits(long heldBytes, long responseBytes, int queued) {

    public static final ShadowLimits DEFAULT = new ShadowLimits(64L << 20, 16L << 20, 256);
}
