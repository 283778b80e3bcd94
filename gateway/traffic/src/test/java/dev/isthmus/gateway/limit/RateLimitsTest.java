package dev.isthmus.gateway.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.settings.ModelConfig.Rate;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RateLimitsTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final AtomicLong now = new AtomicLong();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

    private RateLimits limits(Rate... rates) {
        return new RateLimits("resnet", List.of(rates), RateCounters.ofThisGateway(now::get), now::get, meters);
    }

    private static RateLimits.Charge ask(RateLimits limits, String key) {
        return limits.request(Map.of("x-api-key", key)::get, "");
    }

    private static OipException refusal(RateLimits limits, String key) {
        return catchThrowableOfType(OipException.class, () -> ask(limits, key));
    }

    @Test
    void requests_beyondTheLimit_areRefusedUntilTheNextFits() {
        RateLimits limits = limits(new Rate(null, false, 2, null, SECOND));
        ask(limits, "a");
        ask(limits, "b");
        OipException refused = refusal(limits, "c");
        assertThat(refused.code()).isEqualTo(ErrorCode.RESOURCE_EXHAUSTED);
        assertThat(refused)
                .hasMessage("rate limit of model 'resnet' reached (2 requests per second): the next request is"
                        + " admitted in 1 s");
        assertThat(refused.retryAfter()).contains(Duration.ofMillis(500));
        now.addAndGet(SECOND.toNanos() / 2);
        ask(limits, "c");
        assertThat(meters.get("isthmus.rate.limited")
                        .tag("limit", "requests")
                        .counter()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void valuesOfAHeader_areCountedEach_andNeverNamed() {
        RateLimits limits = limits(new Rate("X-Api-Key", false, 1, null, SECOND));
        ask(limits, "secret");
        ask(limits, "other");
        ask(limits, "long".repeat(1000));
        assertThat(refusal(limits, "secret"))
                .hasMessage("rate limit of model 'resnet' reached (1 requests per second for each value of header"
                        + " 'X-Api-Key'): the next request is admitted in 1 s");
        assertThat(refusal(limits, "long".repeat(1000))).isNotNull();
    }

    @Test
    void callsWithoutTheHeader_shareOneLimit() {
        RateLimits limits = limits(new Rate("x-api-key", false, 1, null, SECOND));
        limits.request(name -> null, "");
        assertThat(catchThrowableOfType(OipException.class, () -> limits.request(name -> null, "")))
                .isNotNull();
    }

    @Test
    void bytes_beyondTheLimit_areRefused() {
        RateLimits limits = limits(new Rate(null, false, 0, 100, SECOND));
        ask(limits, "a").body(80);
        RateLimits.Charge second = ask(limits, "a");
        OipException refused = catchThrowableOfType(OipException.class, () -> second.body(70));
        assertThat(refused)
                .hasMessage("rate limit of model 'resnet' reached (100 bytes per second): a body of 70 bytes is"
                        + " admitted in 1 s");
        assertThat(refused.retryAfter()).contains(Duration.ofMillis(500));
    }

    @Test
    void body_isCountedOnce() {
        RateLimits limits = limits(new Rate(null, false, 0, 100, SECOND));
        RateLimits.Charge charge = ask(limits, "a");
        charge.body(60);
        charge.body(60);
        ask(limits, "a").body(40);
    }

    @Test
    void body_largerThanTheBurst_passesOnceAndIsOwed() {
        RateLimits limits = limits(new Rate(null, false, 0, 100, SECOND));
        ask(limits, "a").body(1000);
        RateLimits.Charge second = ask(limits, "a");
        OipException refused = catchThrowableOfType(OipException.class, () -> second.body(10));
        assertThat(refused.retryAfter()).contains(Duration.ofMillis(9100));
        assertThat(refused).hasMessageEndingWith("a body of 10 bytes is admitted in 10 s");
    }

    @Test
    void requestThatOneLimitRefuses_isCountedByNone() {
        RateLimits limits =
                limits(new Rate(null, false, 2, null, SECOND), new Rate("x-api-key", false, 1, null, SECOND));
        ask(limits, "a");
        for (int i = 0; i < 10; i++) {
            assertThat(refusal(limits, "a")).isNotNull();
        }
        ask(limits, "b");
    }

    @Test
    void closedLimits_leaveNoMeters() {
        limits(new Rate(null, false, 1, null, SECOND)).close();
        assertThat(meters.getMeters()).isEmpty();
    }

    @Test
    void debtOfALargeBody_isNotForgotten_whileNobodyCalls() {
        RateLimits limits = limits(new Rate("x-api-key", false, 0, 100, SECOND));
        ask(limits, "a").body(1_000_000);
        now.addAndGet(Duration.ofHours(2).toNanos());
        RateLimits.Charge second = ask(limits, "a");
        OipException refused = catchThrowableOfType(OipException.class, () -> second.body(100));
        assertThat(refused.retryAfter()).contains(Duration.ofSeconds(10_000 - 2 * 3600));
    }
}
