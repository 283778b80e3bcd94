package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class VersionOrderTest {

    @Test
    void order_numbersByValueThenTexts() {
        assertThat(Stream.of("v2", "10", "", "9", "18446744073709551616", "v10", "01", "1", "0", "-1", "9a")
                        .sorted(VersionOrder.ORDER))
                .containsExactly("", "0", "01", "1", "9", "10", "18446744073709551616", "-1", "9a", "v10", "v2");
    }

    @Test
    void order_equalTexts_areEqual() {
        assertThat(Stream.of("", "1", "v1")).allMatch(version -> VersionOrder.ORDER.compare(version, version) == 0);
    }
}
