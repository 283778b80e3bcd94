package dev.isthmus.gateway.http2;

/** What peers may cost us, and who hears of those that cost more. */
public record AbusePolicy(AbuseLimits limits, AbuseListener listener) {
    /** Everything is taken. */
    public static final AbusePolicy NONE = new AbusePolicy(AbuseLimits.NONE, (peer, rule, what) -> {});
}
