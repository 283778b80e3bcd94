package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigRestartsTest {
    private static final String RAMP = "ramp: {target: new, steps: [10%, 100%]}";
    private static final String CONFIG = """
            upstreams:
              u: {protocol: grpc, endpoints: ["127.0.0.1:1"]}
            models:
              m:
                targets:
                  - {name: old, upstream: u, weight: 90}
                  - {name: new, upstream: u, version: "2", weight: 10}
                rates: [{requests_per_second: 5}]
                ramp: {target: new, steps: [10%, 100%]}
            """;

    private static List<String> restarts(String from, String to) throws ConfigException {
        assertThat(CONFIG).contains(from);
        return ConfigDiff.of(parse(CONFIG), parse(CONFIG.replace(from, to))).restarts();
    }

    private static GatewayConfig parse(String text) throws ConfigException {
        return ConfigLoader.parse("f.yaml", text, Path.of("."));
    }

    @ParameterizedTest
    @ValueSource(strings = {"interval: 7m", "minimum_requests: 3", "max_error_rate: 3%", "max_latency_ratio: 0"})
    void limitsOfARamp_restartNothing(String other) throws ConfigException {
        assertThat(restarts(RAMP, RAMP.replace("}", ", " + other + "}"))).isEmpty();
    }

    @Test
    void weights_restartNothing() throws ConfigException {
        assertThat(restarts("weight: 10", "weight: 20")).isEmpty();
    }

    @Test
    void targetOfARamp_restartsIt() throws ConfigException {
        assertThat(restarts("version: \"2\"", "version: \"3\""))
                .containsExactly(
                        "model 'm': ramp: begins again at 10%, also if it is rolled back: its target is another one");
    }

    @Test
    void stepsOfARamp_mayRestartIt() throws ConfigException {
        assertThat(restarts("[10%, 100%]", "[20%, 100%]"))
                .containsExactly("model 'm': ramp: begins again at 20%, unless it is rolled back or its share is one of"
                        + " the new steps: 20%, 100%");
    }

    @Test
    void withoutRamp_itEnds() throws ConfigException {
        assertThat(restarts(RAMP, "timeout: 5s"))
                .containsExactly(
                        "model 'm': ramp: ends, also if it is rolled back; its target gets its configured weight");
    }

    @Test
    void upstreamsAndRates_beginAnew() throws ConfigException {
        assertThat(restarts("protocol: grpc,", "protocol: grpc, timeout: 7s,"))
                .containsExactly(
                        "upstream 'u': connections, health, ejections and the circuit breaker of its servers begin anew");
        assertThat(restarts("requests_per_second: 5", "requests_per_second: 6"))
                .containsExactly("model 'm': its rate limits begin anew");
    }
}
