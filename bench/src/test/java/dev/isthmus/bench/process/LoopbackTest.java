package dev.isthmus.bench.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LoopbackTest {
    private static final String METRICS = """
            # TYPE a gauge
            a 1.5
            ab 7
            a_used{area="heap",id="x"} 1.0E3
            a_used{area="heap",id="y"} 2 1700000000000
            a_used{area="nonheap",id="z"} 4
            """;

    @Test
    void metersAreSummedByName() {
        assertThat(Loopback.sum(METRICS, "a", "")).isEqualTo(1.5);
        assertThat(Loopback.sum(METRICS, "a_used", "")).isEqualTo(1006);
        assertThat(Loopback.sum(METRICS, "a_used", "area=\"heap\"")).isEqualTo(1002);
        assertThat(Loopback.sum(METRICS, "none", "")).isZero();
    }
}
