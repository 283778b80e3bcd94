package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrpcTimeoutTest {
    @ParameterizedTest
    @ValueSource(strings = {"5", "S", "123456789S", "-1S", "5X", ""})
    void value_malformed_isRefused(String value) {
        assertThatThrownBy(() -> GrpcTimeout.deadline(value, 0)).hasMessageContaining("grpc-timeout");
    }

    @ParameterizedTest
    @CsvSource({
        "7n, PT0.000000007S",
        "7u, PT0.000007S",
        "7m, PT0.007S",
        "7S, PT7S",
        "7M, PT7M",
        "7H, PT7H",
        "0S, PT0S",
    })
    void value_isRead(String value, Duration expected) {
        assertThat(GrpcTimeout.deadline(value, 100)).isEqualTo(100 + expected.toNanos());
    }

    @Test
    void value_ofMoreThanACentury_isOne() {
        assertThat(GrpcTimeout.deadline("99999999H", 0)).isEqualTo(TimeUnit.DAYS.toNanos(36_500));
    }

    @Test
    void header_missing_isNoDeadline() {
        assertThat(GrpcTimeout.deadline(null, 0)).isEqualTo(GrpcTimeout.NO_DEADLINE);
    }

    @ParameterizedTest
    @CsvSource({
        "-1, 0n",
        "0, 0n",
        "99999999, 99999999n",
        "100000999, 100000u",
        "60000000000, 60000000u",
        "100000000000, 100000m",
        "100000000000000, 100000S",
        "9223372036854775807, 2562047H",
    })
    void value_isWrittenInTheSmallestUnitThatHasRoom(long nanos, String expected) {
        assertThat(GrpcTimeout.value(nanos)).isEqualTo(expected);
    }
}
