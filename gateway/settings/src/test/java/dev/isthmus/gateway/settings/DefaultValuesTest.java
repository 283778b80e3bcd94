package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The defaults of a section's keys. */
class DefaultValuesTest {

    enum Colour {
        RED,
        GREEN
    }

    record Inner(@Default("5s") Duration timeout) {}

    record Outer(
            @Default("8KiB") @Size int size,
            @Default({"green", "red"}) Set<Colour> colours,
            @Required Path file,
            @Required Colour colour,
            @Nullable Inner section,
            Inner inner,
            List<String> names,
            Map<String, String> labels,
            boolean on) {}

    record WithoutDefault(@Range(max = 9) int number) {}

    record Malformed(@Default("five seconds") Duration timeout) {}

    @Test
    void valuesAreReadAsThoseOfAFile_othersAreEmpty() {
        assertThat(DefaultValues.of(Outer.class))
                .isEqualTo(new Outer(
                        8 << 10,
                        Set.of(Colour.RED, Colour.GREEN),
                        Path.of(""),
                        Colour.RED,
                        null,
                        new Inner(Duration.ofSeconds(5)),
                        List.of(),
                        Map.of(),
                        false));
    }

    @Test
    void keyWithoutADefault_isAMistake() {
        assertThatThrownBy(() -> DefaultValues.of(WithoutDefault.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a key without a default: int number");
    }

    @Test
    void defaultThatAFileCouldNotHave_isAMistake() {
        assertThatThrownBy(() -> DefaultValues.of(Malformed.class)).hasMessage("five seconds");
    }
}
