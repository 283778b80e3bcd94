package dev.isthmus.gateway.settings;

import java.time.Duration;

/** Limits of concurrent calls that follow the latency of each server. */
@Doc("How many concurrent calls each server may have, measured by its latency: a server at its limit gets no further "
        + "call, and if all are, the call is refused with 503. Without this section only max_requests limits.")
public record AdaptiveConcurrency(
        @Doc("Lowest limit of one server.") @Range(min = 1, max = 1_000_000) @Default("1")
        int min,

        @Doc("Highest limit of one server.") @Range(min = 1, max = 1_000_000) @Default("1000")
        int max,

        @Doc("By how much the latency may exceed that without a queue before the limit falls.") @Share @Default("25%")
        double tolerance,

        @Doc("Time after which the latency without a queue is measured again, at half the limit, if the server was "
                + "busy all the time.")
        @Default("30s")
        Duration measureInterval)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        check.expect(!check.valid("min", "max") || min <= max, "min", "at most max, " + max + ", is expected", min);
    }
}
