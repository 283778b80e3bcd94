package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.isthmus.gateway.settings.ConfigLoader;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AttackRowTest {
    private static final AttackRunner.Back BACK = new AttackRunner.Back(0, 170, 0);

    private static Tally tally(int millis, Outcome outcome) {
        Tally tally = new Tally();
        tally.offered();
        tally.ended(0, 0, 0, TimeUnit.MILLISECONDS.toNanos(millis), outcome);
        return tally;
    }

    private static AttackRow row(
            AttackedProxy defender, boolean brief, Tally during, double peak, AttackRunner.Back back, String seen) {
        return new AttackRow(
                defender,
                "pings",
                brief,
                tally(10, Outcome.OK),
                during,
                150,
                peak,
                back,
                5,
                1,
                0.1,
                seen,
                "",
                true,
                "",
                128);
    }

    private static AttackRow row(boolean brief, int millis) {
        return row(AttackedProxy.SMALL, brief, tally(millis, Outcome.OK), 200, BACK, "true GOAWAY 11 1");
    }

    @Test
    void attackWithoutEffect_isPassed() {
        assertThat(row(false, 12).missed()).isEmpty();
        assertThat(row(false, 12).line())
                .contains("| pass ")
                .contains("GOAWAY 11 1")
                .contains("1.20");
    }

    @Test
    void slowBystander_isMissed_butNotInTheShortForm() {
        assertThat(row(false, 13).missed()).containsExactly("p99");
        assertThat(row(true, 1_300).met()).isTrue();
    }

    @Test
    void failures_memory_andWhatTheAttackerSaw_areMissed() {
        AttackRunner.Back left = new AttackRunner.Back(-1, 400, 7);
        AttackRow row = row(AttackedProxy.SMALL, true, tally(1, Outcome.RESET), 150 + 128 + 161, left, "false open 1");
        assertThat(row.missed()).containsExactly("bystander", "attack", "resident", "not back: 7 bytes held");
        assertThat(row.met()).isFalse();
        assertThat(row.line()).contains("1: reset 1 of 1").contains("| missed ");
    }

    @Test
    void otherProxies_areReported() {
        AttackRow row = row(AttackedProxy.NGINX, false, tally(1, Outcome.RESET), 9_999, BACK, "true ");
        assertThat(row.met()).isTrue();
        assertThat(row.line()).contains("| reported ");
    }

    @Test
    void configuration_isValid() {
        String config = AttackConfig.text(
                1,
                2,
                IntStream.range(3, 3 + AttackStub.Kind.values().length).boxed().toList());
        assertThatCode(() -> ConfigLoader.parse("isthmus.yaml", config, Path.of(".")))
                .doesNotThrowAnyException();
    }
}
