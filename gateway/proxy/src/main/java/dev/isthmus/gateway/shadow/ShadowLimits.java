package dev.isthmus.gateway.shadow;

/**
 * What all copies of a process together may take.
 *
 * @param heldBytes of requests and answers that would otherwise be released; copies beyond are dropped
 * @param answerBytes of an answer that is compared; larger ones are left out
 * @param queued comparisons that wait; more are dropped
 */
public record ShadowLimits(long heldBytes, long answerBytes, int queued) {

    public static final ShadowLimits DEFAULT = new ShadowLimits(64L << 20, 16L << 20, 256);
}
