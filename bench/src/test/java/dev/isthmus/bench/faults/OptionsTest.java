package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OptionsTest {
    @Test
    void load_beyondTheIds_isRefused() {
        assertThatThrownBy(() -> new Options(Path.of("."), 2_000, 1_000, false))
                .hasMessageContaining("seconds 2000 and rate 1000");
    }

    @Test
    void partOfTheLoad_isInMillis() {
        Options options = new Options(Path.of("."), 20, 1_000, false);
        assertThat(options.requests()).isEqualTo(20_000);
        assertThat(options.millis(0.2)).isEqualTo(4_000);
    }
}
