package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.settings.Endpoint;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UpstreamSettingsTest {

    @Test
    void settings_withANameForAnAddress_areRefused() {
        var named = new Endpoint("h", 1);
        assertThatThrownBy(() -> UpstreamSettings.of("x", named, Duration.ofSeconds(1), Duration.ofSeconds(1), 1))
                .hasMessage("a server of upstream 'x' needs an IP address, got the host name 'h'");
    }

    @ParameterizedTest
    @CsvSource({"60000,60 s", "2500,2.5 s", "2000,2 s", "250,250 ms", "-5,0 ms", "59998,60 s"})
    void timeout_isReportedInWords(long millis, String words) {
        assertThat(new UpstreamFailures("x", () -> false).timedOut(millis * 1_000_000, null))
                .hasMessage("upstream 'x' did not respond within " + words);
    }
}
