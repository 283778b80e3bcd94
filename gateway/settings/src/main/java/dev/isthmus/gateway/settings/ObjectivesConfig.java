package dev.isthmus.gateway.settings;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Objectives of a model. What one leaves to 100% is its error budget. */
@Doc("Objectives for the inferences of the model. Metrics count those that meet and miss each, so that alerts tell how "
        + "fast the error budget is used up: what an objective leaves to 100%.")
public record ObjectivesConfig(
        @Doc("Share of the inferences that do not fail because of the gateway or servers, such as 99.9%.")
        @Share
        @Nullable
        Double availability,

        @Doc("Share of the successful inferences that take at most 'latency_within', such as 99%.") @Share @Nullable
        Double latency,

        @Doc("Duration of an inference that is in time, from the head of the request to the end of the response.")
        @Nullable
        Duration latencyWithin)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        boolean timed = latency != null && latencyWithin != null;
        if (check.valid() && !timed && (availability == null || latency != null || latencyWithin != null)) {
            check.problem("'availability', or 'latency' together with 'latency_within', is expected");
        }
        share(check, "availability", availability);
        share(check, "latency", latency);
    }

    private static void share(SectionCheck check, String key, @Nullable Double share) {
        if (share != null) {
            check.expect(
                    share > 0 && share < 1, key, "more than 0% and less than 100% is expected", Units.share(share));
        }
    }
}
