package dev.isthmus.bench.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class SamplesTest {
    @Test
    void rise_isThatOfTheLineThroughAll() {
        assertThat(Samples.rise(new double[] {0, 10, 20, 30}, new double[] {5, 6, 7, 8}))
                .isEqualTo(3, Offset.offset(1e-9));
        assertThat(Samples.rise(new double[] {0, 10, 20, 30}, new double[] {5, 9, 1, 5}))
                .isBetween(-5.0, 0.0);
        assertThat(Samples.rise(new double[] {1}, new double[] {5})).isZero();
    }
}
