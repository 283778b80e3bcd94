package dev.isthmus.gateway.coding;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InflationLimitsTest {
    private static final InflationLimits LIMITS = new InflationLimits(4 << 20, 100);

    @ParameterizedTest
    @CsvSource({"1, 1048576", "20000, 2000000", "1000000, 4194304"})
    void content_upToALimit_isAccepted(long compressed, long decoded) {
        assertThatCode(() -> LIMITS.check(compressed, decoded)).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({"1, 1048577, each compressed one", "20000, 2000001, each compressed one", "1000000, 4194305, 4194304"})
    void content_beyondALimit_isRefused(long compressed, long decoded, String limit) {
        assertThatThrownBy(() -> LIMITS.check(compressed, decoded))
                .isInstanceOf(OipException.class)
                .hasMessageContaining(limit);
    }
}
