package dev.isthmus.transcoder.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class WireLimitsTest {
    @Test
    void depth_isAtMost64() {
        assertThat(limits(64).jsonDepth()).isEqualTo(64);
        assertThatThrownBy(() -> limits(65))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("jsonDepth: at most 64 is expected, got 65");
    }

    private static WireLimits limits(int depth) {
        return new WireLimits(1000, depth, 64, 100, 10, 10, false);
    }
}
