package dev.isthmus.gateway.settings;

import java.time.Duration;

@Doc("Hedging: an inference that takes longer than most of its model is also sent to a second server, and the first "
        + "answer counts; the other attempt is cancelled. A request may run twice. Not for sequences, streams, "
        + "generate, and requests above retry.max_body.")
public record Hedging(
        @Doc("Quantile of the model's latency at this upstream after which a call is late.") @Share @Default("95%")
        double quantile,

        @Doc("Hedging budget: second attempts as a share of calls.") @Share @Default("5%")
        double budget,

        @Doc("No call is late before this time.") @Default("1ms")
        Duration minDelay)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        check.expect(
                quantile > 0 && quantile < 1,
                "quantile",
                "more than 0% and less than 100% is expected",
                Units.share(quantile));
        if (budget <= 0) {
            check.problem("budget", "more than 0% is expected; without the section nothing is hedged");
        }
    }
}
