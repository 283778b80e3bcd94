package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UnitsTest {

    @ParameterizedTest
    @CsvSource({"500ms,500", "1500ms,1500", "60s,60000", "90s,90000", "5m,300000", "2h,7200000", "168h,604800000"})
    void duration_comesBackAsWritten(String text, long millis) {
        assertThat(Units.readDuration(text, false)).isEqualTo(Duration.ofMillis(millis));
        assertThat(Units.written(Duration.ofMillis(millis))).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"1.5s,1500", "1m30s,90000", "0.25h,900000", "1h2m3s4ms,3723004", "7d,604800000", "1d12h,129600000"})
    void duration_ofSeveralParts_isTheirSum(String text, long millis) {
        assertThat(Units.readDuration(text, false)).isEqualTo(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "s", "5", "0s", "0h0.0s", "-1s", "1.5ms", ".5s", "1.s", "10us", "169h", "8d", "5 s"})
    void duration_ofAnotherForm_isNone(String text) {
        assertThat(Units.readDuration(text, false)).isNull();
    }

    @Test
    void duration_ofAnyLength_isRead() {
        String text = "1ms".repeat(100_000);
        assertThat(Units.readDuration(text, false)).isNull();
        assertThat(Units.durationProblem(text)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"1B,1", "1KiB,1024", "1500B,1500", "64MiB,67108864", "1GiB,1073741824"})
    void size_comesBackAsWritten(String text, int bytes) {
        assertThat(Units.readSize(text)).isEqualTo(bytes);
        assertThat(Units.size(bytes)).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0B", "2GiB", "1kb", "1 MiB", "99999999999"})
    void size_ofAnotherForm_isNone(String text) {
        assertThat(Units.readSize(text)).isNull();
    }

    @ParameterizedTest
    @CsvSource({"0%,0", "0.5%,0.005", "20%,0.2", "99.999999%,0.99999999", "100%,1"})
    void share_comesBackAsWritten(String text, double share) {
        assertThat(Units.readShare(text)).isEqualTo(share);
        assertThat(Units.share(share)).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "20", "0.2", "101%", "100.5%", "-1%", "1e1%"})
    void share_ofAnotherForm_isNone(String text) {
        assertThat(Units.readShare(text)).isNull();
    }
}
