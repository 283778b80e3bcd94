package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ServerDelayTest {
    private static final InstantSource NOW = InstantSource.fixed(Instant.parse("1994-11-06T08:49:07Z"));

    @ParameterizedTest
    @CsvSource({
        "0, PT0S",
        "120, PT2M",
        "999999999, PT999999999S",
        "'Sun, 06 Nov 1994 08:49:37 GMT', PT30S",
        "'Mon, 07 Nov 1994 08:49:07 GMT', PT24H",
        "'Sun, 06 Nov 1994 08:49:06 GMT', PT0S",
        "'Thu, 01 Jan 1970 00:00:00 GMT', PT0S",
        "'Fri, 31 Dec 9999 23:59:59 GMT', PT999999999S",
    })
    void numberOrDate_isATime(String retryAfter, Duration expected) {
        assertThat(ServerDelay.delay(retryAfter, NOW)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "soon",
                "-1",
                "1.5",
                "1000000000",
                "Sunday, 06-Nov-94 08:49:37 GMT",
                "Sun Nov  6 08:49:37 1994",
                "Sun, 6 Nov 1994 08:49:37 GMT",
                "Sun, 06 Nov 1994 08:49:37 +0100",
                "Mon, 06 Nov 1994 08:49:37 GMT",
                "Sun, 06 Abc 1994 08:49:37 GMT",
                "Sun, 06 Nov 1994 28:49:37 GMT",
            })
    void anythingElse_isNone(String retryAfter) {
        assertThat(ServerDelay.delay(retryAfter, NOW)).isNull();
    }

    @Test
    void pushback_comesFirst() {
        OipException failure = new OipException(ErrorCode.UNAVAILABLE, "x");
        assertThat(ServerDelay.of(failure, "7", "100").serverDelay()).contains(Duration.ofMillis(100));
        assertThat(ServerDelay.of(failure, "7", "x").serverDelay()).contains(Duration.ofSeconds(7));
        assertThat(ServerDelay.of(failure, null, null)).isSameAs(failure);
    }
}
