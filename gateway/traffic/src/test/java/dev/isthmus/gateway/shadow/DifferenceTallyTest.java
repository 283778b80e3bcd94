package dev.isthmus.gateway.shadow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.shadow.ShadowReport.DifferenceTally;
import dev.isthmus.oip.DataType;
import dev.isthmus.transcoder.compare.OutputComparison;
import org.junit.jupiter.api.Test;

class DifferenceTallyTest {
    private final DifferenceTally tally = new DifferenceTally(new double[] {0.1, 1});

    private void numbers(double difference, double cosine) {
        tally.add(new OutputComparison.Numbers("y", DataType.FP32, 4, difference, cosine, 0.5));
    }

    private String document() {
        return tally.document("y").toString();
    }

    @Test
    void nothingCompared_hasNoFigures() {
        assertThat(document())
                .isEqualTo("{\"output\":\"y\",\"compared\":0,\"worst_difference\":0.0,\"distribution\":[]}");
    }

    @Test
    void differences_countInTheirRange() {
        numbers(0, 1);
        numbers(0.1, 1);
        numbers(0.11, 0.5);
        numbers(1, 0.5);
        numbers(2, 0.5);
        assertThat(document())
                .isEqualTo("{\"output\":\"y\",\"compared\":5,\"worst_difference\":2.0,\"mean_cosine\":0.7,"
                        + "\"mean_argmax_agreement\":0.5,\"distribution\":[{\"at_most\":0.0,\"count\":1},"
                        + "{\"at_most\":0.1,\"count\":1},{\"at_most\":1.0,\"count\":2},"
                        + "{\"at_most\":\"infinite\",\"count\":1}]}");
    }

    @Test
    void notFinite_isTheWorst() {
        numbers(Double.POSITIVE_INFINITY, 0);
        assertThat(document()).contains("\"worst_difference\":\"infinite\"", "{\"at_most\":\"infinite\",\"count\":1}");
    }

    @Test
    void elements_haveAShareAndNoDistribution() {
        tally.add(new OutputComparison.Elements("y", DataType.BYTES, 4, 4));
        tally.add(new OutputComparison.Elements("y", DataType.BYTES, 4, 2));
        assertThat(document())
                .isEqualTo("{\"output\":\"y\",\"compared\":2,\"worst_difference\":0.0,\"mean_equal_share\":0.75,"
                        + "\"distribution\":[]}");
    }
}
