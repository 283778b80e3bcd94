package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import org.junit.jupiter.api.Test;

/** What takes long and is made for one operator at a time. */
class OneAtATimeTest {
    @Test
    void secondOne_isRefused_untilTheFirstIsMade() {
        OneAtATime histograms = new OneAtATime("a histogram is being made");
        try (OneAtATime _ = histograms.begin()) {
            assertThatThrownBy(histograms::begin)
                    .isInstanceOf(OipException.class)
                    .hasMessage("a histogram is being made");
        }
        histograms.begin().close();
    }
}
