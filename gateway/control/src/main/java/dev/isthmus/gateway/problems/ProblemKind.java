package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.net.Labelled;

/** What can be wrong, the most urgent first. */
enum ProblemKind implements Labelled {
    /** The gateway takes no new traffic: it is about to begin or to end, which is no fault. */
    GATEWAY_NOT_READY(ProblemSeverity.WARNING, "isthmus health"),
    /** No server of an upstream is ready. */
    UPSTREAM_DOWN(ProblemSeverity.CRITICAL, "isthmus servers"),
    /** Calls of a model fail because of servers or the gateway. */
    MODEL_FAILING(ProblemSeverity.WARNING, "isthmus top"),
    BREAKER_OPEN(ProblemSeverity.CRITICAL, "isthmus servers"),
    SERVER_NOT_READY(ProblemSeverity.WARNING, "isthmus servers"),
    /** Operators have taken a server out of service, which is no fault. */
    SERVER_DRAINED(ProblemSeverity.WARNING, "isthmus servers"),
    /** A server that is ready answers 5xx, or gives no valid response. */
    SERVER_FAILING(ProblemSeverity.WARNING, "isthmus servers"),
    /** A server takes several times as long as the others of its upstream. */
    SERVER_SLOW(ProblemSeverity.WARNING, "isthmus servers"),
    /** A model is not ready although its servers are. */
    MODEL_NOT_READY(ProblemSeverity.CRITICAL, "isthmus models"),
    /** A model is not ready any more on one of the servers that had it. */
    MODEL_GONE(ProblemSeverity.WARNING, "isthmus models"),
    /** A local model is not loaded, because it ran when its process crashed. */
    MODEL_EXCLUDED(ProblemSeverity.CRITICAL, "isthmus models"),
    /** Runs of local models did not end although they were told to. */
    RUNS_STUCK(ProblemSeverity.WARNING, "isthmus models"),
    /** Event loops run late: the gateway itself is what calls wait for. */
    GATEWAY_BUSY(ProblemSeverity.WARNING, "isthmus top"),
    /** Many attempts at the servers of an upstream are retries. */
    RETRIES(ProblemSeverity.WARNING, "isthmus top"),
    RAMP_ROLLED_BACK(ProblemSeverity.WARNING, "isthmus ramps"),
    /** The guard of a ramp has too few figures for the next step. */
    RAMP_HELD(ProblemSeverity.WARNING, "isthmus ramps"),
    /** A certificate has expired, or is about to. */
    CERTIFICATE(ProblemSeverity.WARNING, ""),
    /** Calls were refused because of a limit. */
    LIMIT_REACHED(ProblemSeverity.CRITICAL, "isthmus top"),
    /** Many calls of a model are refused because of what their clients send. */
    CLIENT_MISTAKES(ProblemSeverity.WARNING, "isthmus top"),
    /** A cache has far fewer hits than before. */
    CACHE_MISSES(ProblemSeverity.WARNING, "isthmus top"),
    /** The store of shared limits and ramps does not answer. */
    SHARED_STATE_LOST(ProblemSeverity.WARNING, ""),
    RELOAD_REJECTED(ProblemSeverity.WARNING, "isthmus validate FILE"),
    /** An InferenceService is not, or not wholly, what it could be. */
    INFERENCE_SERVICE(ProblemSeverity.WARNING, ""),
    /** Another gateway of the deployment does not answer. */
    GATEWAY_UNREACHABLE(ProblemSeverity.WARNING, "isthmus health"),
    /** The gateways of the deployment have several configurations or versions. */
    GATEWAYS_DIFFER(ProblemSeverity.WARNING, "isthmus gateways"),
    /** Servers describe a model in different ways. */
    DRIFT(ProblemSeverity.WARNING, ""),
    /** It is not known how the servers of an upstream speak the protocol. */
    DIALECT_UNKNOWN(ProblemSeverity.WARNING, "isthmus servers"),
    /** The servers of an upstream show another dialect than the configured one. */
    DIALECT_CONTRADICTED(ProblemSeverity.WARNING, "isthmus servers");

    private final ProblemSeverity severity;
    private final String command;

    ProblemKind(ProblemSeverity severity, String command) {
        this.severity = severity;
        this.command = command;
    }

    /** How bad such a problem is, unless more is known. */
    ProblemSeverity severity() {
        return severity;
    }

    /** What shows more of it, for a shell; empty for none. */
    String command() {
        return command;
    }
}
