package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.Map;

/** A queue of calls in front of an upstream whose limit is reached. */
@Doc("Fair queueing: where a call would be refused because max_requests or adaptive_concurrency is reached, it waits, "
        + "and callers take turns by their weights. Without this section nothing waits. Streams never wait.")
public record QueueConfig(
        @Doc("Maximum number of waiting calls.") @Range(min = 1, max = 100_000) @Default("100")
        int maxWaiting,

        @Doc("Maximum number of waiting calls of one caller: a name, or the address of a client without one.")
        @Range(min = 1, max = 100_000)
        @Default("50")
        int maxWaitingPerCaller,

        @Doc(
                "Time after which a waiting call is refused. A call that would wait longer than this, or than its deadline "
                        + "allows, is refused at once.")
        @Default("1s")
        Duration maxWait,

        @Doc("Share of the concurrent calls that is kept free for callers with fewer concurrent calls than that share "
                + "is. 0%: none.")
        @Share
        @Default("10%")
        double reserved,

        @Doc("Weights of callers, by name; 1 without.") @Range(min = 1, max = 1000)
        Map<String, Integer> weights,

        @Doc("Weights of callers without a weight of their own, by group; of several groups the highest.")
        @Range(min = 1, max = 1000)
        Map<String, Integer> groupWeights,

        @Doc("Shares of models, by the name that the upstream knows; all others have one share of 1 together.")
        @Range(min = 1, max = 1000)
        Map<String, Integer> shares,

        @Doc("Levels of the request parameter 'priority', which orders the waiting calls of one caller. 1 is the "
                + "highest; 0 and numbers above the levels are the middle one. 0: priorities are ignored.")
        @Range(max = 16)
        @Default("0")
        int priorityLevels)
        implements CheckedSection {
    private static final double MAX_RESERVED = 0.5;

    @Override
    public void check(SectionCheck check) {
        if (check.valid("max_waiting", "max_waiting_per_caller")) {
            check.expect(
                    maxWaitingPerCaller <= maxWaiting,
                    "max_waiting_per_caller",
                    "at most max_waiting, " + maxWaiting + ", is expected",
                    maxWaitingPerCaller);
        }
        check.expect(
                reserved <= MAX_RESERVED,
                "reserved",
                "at most " + Units.share(MAX_RESERVED) + " is expected",
                Units.share(reserved));
        check.atMost("max_wait", maxWait, "60s");
    }
}
