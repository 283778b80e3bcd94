package dev.isthmus.gateway.fleet.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrometheusTextTest {
    private static final String TRITON = """
            # HELP nv_inference_pending_request_count Instantaneous number of pending requests awaiting execution.
            # TYPE nv_inference_pending_request_count gauge
            nv_inference_pending_request_count{model="simple",version="1"} 3
            nv_inference_pending_request_count{model="od} d",version="2"} 4 1700000000000
            nv_inference_pending_request_count_total{model="simple",version="1"} 90
            nv_energy_consumption{gpu_uuid="x"} 5
            """;

    @Test
    void metricOfSeveralModels_isSummed() {
        assertThat(TritonMetrics.sum(TRITON, "nv_inference_pending_request_count"))
                .hasValue(7);
    }

    @Test
    void metricWithoutLabels_isRead() {
        assertThat(TritonMetrics.sum("waiting 2.5 17\n", "waiting")).hasValue(2.5);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "waiting",
                "waiting{",
                "waiting{a=\"b\"}",
                "waiting x",
                "waiting NaN",
                "waiting +Inf",
                "waiting 1.2.3",
                "waiting 1e999",
                "waiting{a=\"} 1 b\"} x",
                "waitings 1"
            })
    void noNumber_isNothing(String text) {
        assertThat(TritonMetrics.sum(text, "waiting")).isEmpty();
    }
}
