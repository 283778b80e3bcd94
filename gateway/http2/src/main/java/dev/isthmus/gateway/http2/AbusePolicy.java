package dev.isthmus.gateway.http2;

/** Limits on the load that peers may cause, and the listener for connections that exceed them. */
public record AbusePolicy(AbuseLimits limits, AbuseListener listener) {
    public static final AbusePolicy NONE = new AbusePolicy(AbuseLimits.NONE, (peer, rule, what) -> {});
}
