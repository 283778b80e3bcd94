package dev.isthmus.testing;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Has Awaitility ask for a condition at once and then less and less often, rather than every 100 ms and first after 100
 * ms: most conditions hold within a few milliseconds, and thousands of tests wait for several. Registered for every
 * class, except in gateway/app.
 */
public final class PromptPolls implements BeforeAllCallback {
    private static final long LONGEST_MILLIS = 100;

    @Override
    public void beforeAll(ExtensionContext context) {
        Awaitility.setDefaultPollInterval(
                (count, previous) -> Duration.ofMillis(Math.min(LONGEST_MILLIS, 1L << Math.min(count, 7))));
    }
}
