package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.net.Labelled;

/** What can be wrong, the most urgent first. */
enum ProblemKind implements Labelled {
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
    /** A server takes several times as long as the others of its upstream. */
    SERVER_SLOW,
    /** A model is not ready although its servers are. */
    MODEL_NOT_READY,
    /** A model is not ready any more on one of the servers that had it. */
    MODEL_GONE,
    /** A local model is not loaded, because it ran when its process crashed. */
    MODEL_EXCLUDED,
    /** Event loops run late: the gateway itself is what calls wait for. */
    GATEWAY_BUSY,
    /** Many attempts at the servers of an upstream are retries. */
    RETRIES,
    RAMP_ROLLED_BACK,
    /** The guard of a ramp has too few figures for the next step. */
    RAMP_HELD,
    /** A certificate has expired, or is about to. */
    CERTIFICATE,
    /** Calls were refused because of a limit. */
    LIMIT_REACHED,
    /** Many calls of a model are refused because of what their clients send. */
    CLIENT_MISTAKES,
    /** A cache has far fewer hits than before. */
    CACHE_MISSES,
    /** The store of shared limits and ramps does not answer. */
    SHARED_STATE_LOST,
    RELOAD_REJECTED,
    /** Another gateway of the deployment does not answer. */
    GATEWAY_UNREACHABLE,
    /** The gateways of the deployment have several configurations or versions. */
    GATEWAYS_DIFFER,
    /** Servers describe a model in different ways. */
    DRIFT,
    /** It is not known how the servers of an upstream speak the protocol. */
    DIALECT_UNKNOWN
}
