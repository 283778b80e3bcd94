package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SharedHeadersTest {
    /** What MLServer 1.7 sends, and what other servers and proxies add. */
    @Test
    void headersOfTheModel_areShared_andNoOthers() {
        Map<String, String> model = Map.of(
                "ce-specversion", "0.3",
                "ce-source", "io.seldon.serving.deployment.mlserver",
                "ce-type", "io.seldon.serving.inference.response",
                "ce-modelid", "iris",
                "ce-inferenceservicename", "mlserver",
                "ce-endpoint", "iris",
                "ce-namespace", "models");
        Map<String, String> all = new HashMap<>(model);
        for (String each : new String[] {
            "ce-id",
            "ce-requestid",
            "ce-time",
            "x-request-id",
            "traceparent",
            "server-timing",
            "retry-after",
            "set-cookie",
            "x-amzn-trace-id",
            "x-correlation-id"
        }) {
            all.put(each, "of one request");
        }
        assertThat(SharedHeaders.of(all)).isEqualTo(model);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "set-cookie | a=b | true",
                "cache-control | no-store | true",
                "cache-control | max-age=5, Private | true",
                "cache-control | private=\"x-user\" | true",
                "vary | * | true",
                "vary | accept, * | true",
                "cache-control | max-age=5, no-cache | false",
                "cache-control | private-ish | false",
                "vary | accept | false",
                "ce-id | 7 | false"
            })
    void responseOfOneClient_isTold(String name, String value, boolean ofOne) {
        assertThat(SharedHeaders.isOfOneClient(Map.of(name, value))).isEqualTo(ofOne);
    }
}
