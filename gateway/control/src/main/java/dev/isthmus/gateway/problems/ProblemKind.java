package dev.isthmus.gateway.problems;

import java.util.Locale;

/** What can be wrong, the most urgent first. */
enum ProblemKind {
    /** The gateway takes no new traffic. */
    GATEWAY_NOT_READY,
    /** No server of an upstream is ready. */
    UPSTREAM_DOWN,
    /** Calls of a model fail because of servers or the gateway. */
    MODEL_FAILING,
    BREAKER_OPEN,
    SERVER_NOT_READY,
    /** A server that is ready answers 5xx, or gives no valid response. */
    SERVER_FAILING,
    /** A model is not ready although its servers are. */
    MODEL_NOT_READY,
    RAMP_ROLLED_BACK,
    /** A certificate has expired, or is about to. */
    CERTIFICATE,
    /** Calls were refused because of a limit. */
    LIMIT_REACHED,
    /** The store of shared limits and ramps does not answer. */
    SHARED_STATE_LOST,
    RELOAD_REJECTED,
    /** Another gateway of the deployment does not answer. */
    GATEWAY_UNREACHABLE,
    /** The gateways of the deployment have several configurations or versions. */
    GATEWAYS_DIFFER,
    /** Servers describe a model in different ways. */
    DRIFT;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
