package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MetadataLimitsTest {

    @Test
    void cut_textThatFits_staysAsItIs() {
        assertThat(MetadataLimits.reason("x".repeat(512))).isEqualTo("x".repeat(512));
    }

    @Test
    void cut_longerText_endsWithDots() {
        assertThat(MetadataLimits.reason("x".repeat(513))).isEqualTo("x".repeat(509) + "...");
    }

    @Test
    void cut_insideACharacterOfTwo_leavesItOut() {
        assertThat(MetadataLimits.cut("abc\uD83D\uDE00defg", 7)).isEqualTo("abc...");
    }
}
