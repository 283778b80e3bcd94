package dev.isthmus.bench.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ScriptTest {
    private static final int SCRIPTS = 400;
    private static final int MOST_BYTES = 64 << 20;

    private static List<Object> told(Script script) {
        return script.steps().stream()
                .map(step -> step instanceof Step.Send send ? (Object) Arrays.hashCode(send.bytes()) : step)
                .toList();
    }

    @Test
    void sameSeed_isTheSameSequence_andEveryKindComes() {
        Set<Script.Kind> kinds = EnumSet.noneOf(Script.Kind.class);
        for (int number = 0; number < SCRIPTS; number++) {
            Script script = Script.of(SeededChoices.mix(7, number));
            assertThat(told(Script.of(SeededChoices.mix(7, number)))).isEqualTo(told(script));
            assertThat(script.steps()).allSatisfy(step -> {
                if (step instanceof Step.Send send) {
                    assertThat(send.bytes().length).isLessThan(MOST_BYTES);
                }
            });
            kinds.add(script.kind());
        }
        assertThat(kinds).containsExactlyInAnyOrder(Script.Kind.values());
    }

    @Test
    void neighbouringSeeds_areDifferentSequences() {
        assertThat(told(Script.of(SeededChoices.mix(7, 1)))).isNotEqualTo(told(Script.of(SeededChoices.mix(7, 2))));
    }
}
