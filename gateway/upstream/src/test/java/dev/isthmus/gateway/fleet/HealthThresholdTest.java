package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.HealthChecker.HealthThreshold;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HealthThresholdTest {
    @ParameterizedTest
    @CsvSource({
        "'',",
        "+, true",
        "-, false",
        "+-, true",
        "+--, true",
        "+---, false",
        "+--+--, true",
        "-+, false",
        "-++, true",
        "-+-+, false",
        "+---++, true"
    })
    void results_areJudgedInARow(String results, @Nullable Boolean healthy) {
        HealthThreshold streak = new HealthThreshold(new Checks(Duration.ofSeconds(1), Duration.ofSeconds(1), 3, 2));

        results.chars().forEach(result -> streak.record(result == '+'));

        assertThat(streak.healthy()).isEqualTo(healthy);
    }
}
