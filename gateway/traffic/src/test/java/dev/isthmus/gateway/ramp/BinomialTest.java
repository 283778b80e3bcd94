package dev.isthmus.gateway.ramp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BinomialTest {
    @ParameterizedTest
    @CsvSource({"1, 1, 0.5", "20, 20, 0.01", "2, 100, 0.01", "7, 100, 0.01", "64, 130, 0.3", "500, 2000, 0.2"})
    void atLeast_isTheSumOfTheExactProbabilities(int some, int all, String probability) {
        BigDecimal sum = BigDecimal.ZERO;
        BigDecimal p = new BigDecimal(probability);
        BigInteger ways = BigInteger.ONE;
        for (int i = 0; i <= all; i++) {
            if (i >= some) {
                sum = sum.add(new BigDecimal(ways)
                        .multiply(p.pow(i))
                        .multiply(BigDecimal.ONE.subtract(p).pow(all - i)));
            }
            ways = ways.multiply(BigInteger.valueOf(all - i)).divide(BigInteger.valueOf(i + 1L));
        }
        double exact = sum.round(MathContext.DECIMAL64).doubleValue();
        assertThat(Binomial.atLeast(some, all, p.doubleValue())).isCloseTo(exact, within(exact * 1e-8));
    }

    @Test
    void atLeast_ofTheImpossible_isZero() {
        assertThat(Binomial.atLeast(1, 20, 0)).isZero();
    }

    @Test
    void atLeast_ofMillions_ends() {
        assertThat(Binomial.atLeast(1_010_000, 100_000_000, 0.01)).isBetween(0.0, 1e-20);
    }
}
