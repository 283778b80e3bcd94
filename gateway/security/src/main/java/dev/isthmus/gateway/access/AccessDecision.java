package dev.isthmus.gateway.access;

/**
 * The decision about one operation.
 *
 * @param allowed whether it may go on
 * @param rule the rule that allows it; empty if none does, or none is needed
 */
public record AccessDecision(boolean allowed, String rule) {
    /** Allowed without a rule. */
    static final AccessDecision ALLOWED = new AccessDecision(true, "");
    /** No rule allows it. */
    static final AccessDecision REFUSED = new AccessDecision(false, "");
}
