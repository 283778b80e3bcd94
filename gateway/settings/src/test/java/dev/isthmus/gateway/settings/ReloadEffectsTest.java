package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReloadEffectsTest {
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

    private static List<String> effects(String from, String to) throws ConfigException {
        assertThat(CONFIG).contains(from);
        return ConfigDiff.of(parse(CONFIG), parse(CONFIG.replace(from, to))).effects();
    }

    private static GatewayConfig parse(String text) throws ConfigException {
        return ConfigLoader.parse("f.yaml", text, Path.of("."));
    }

    @ParameterizedTest
    @ValueSource(strings = {"interval: 7m", "minimum_requests: 3", "max_error_rate: 3%", "max_latency_ratio: 0"})
    void limitsOfARamp_restartNothing(String other) throws ConfigException {
        assertThat(effects(RAMP, RAMP.replace("}", ", " + other + "}"))).isEmpty();
    }

    @Test
    void weights_restartNothing() throws ConfigException {
        assertThat(effects("weight: 10", "weight: 20")).isEmpty();
    }

    @Test
    void targetOfARamp_restartsIt() throws ConfigException {
        assertThat(effects("version: \"2\"", "version: \"3\""))
                .containsExactly(
                        "model 'm': ramp: begins again at 10%, also if it is rolled back: its target is another one");
    }

    @Test
    void stepsOfARamp_mayRestartIt() throws ConfigException {
        assertThat(effects("[10%, 100%]", "[20%, 100%]"))
                .containsExactly("model 'm': ramp: begins again at 20%, unless it is rolled back or its share is one of"
                        + " the new steps: 20%, 100%");
    }

    @Test
    void withoutRamp_itEnds() throws ConfigException {
        assertThat(effects(RAMP, "timeout: 5s"))
                .containsExactly(
                        "model 'm': ramp: ends, also if it is rolled back; its target gets its configured weight");
    }

    @Test
    void upstreamsAndRates_beginAnew() throws ConfigException {
        assertThat(effects("protocol: grpc,", "protocol: grpc, timeout: 7s,"))
                .containsExactly(
                        "upstream 'u': its connections close after its last call; health, ejections and the circuit breaker"
                                + " of its servers begin anew");
        assertThat(effects("requests_per_second: 5", "requests_per_second: 6"))
                .containsExactly("model 'm': its rate limits begin anew");
    }

    private static List<String> added(String before, String after) throws ConfigException {
        return ConfigDiff.of(parse(CONFIG + before), parse(CONFIG + after)).effects();
    }

    @Test
    void listeners_areBoundAndClosed() throws ConfigException {
        assertThat(added("listeners: [{port: 1}, {port: 2}]", "listeners: [{port: 2, grpc_web: true}, {port: 3}]"))
                .containsExactly(
                        "listener 127.0.0.1:1: accepts no more connections; open ones go on",
                        "listener 127.0.0.1:2: stays bound; its other settings hold for new connections",
                        "listener 127.0.0.1:3: binds port 3");
        assertThat(added("listeners: [{port: 1}]", "listeners: [{host: 0.0.0.0, port: 1, access: open}]"))
                .containsExactly(
                        "listener 127.0.0.1:1: accepts no more connections; open ones go on",
                        "listener 0.0.0.0:1: needs a restart; the reload is rejected, as 127.0.0.1:1 has the port");
    }

    @Test
    void sections_sayWhatTheyDo() throws ConfigException {
        assertThat(added("", "limits: {max_concurrent_streams: 5}"))
                .containsExactly("limits: max_concurrent_streams: holds for new connections");
        assertThat(added("", "local: {embedded_models: true}"))
                .containsExactly("local: its models are loaded before the change takes effect");
        assertThat(added("local: {embedded_models: true}", "local: {embedded_models: true, threads: 1}"))
                .containsExactly("local: all of its models are loaded again");
        assertThat(added("local: {embedded_models: true}", ""))
                .containsExactly("local: its models are unloaded after their last call");
    }

    @Test
    void valuesThatNothingKeeps_haveNoEffectBeside() throws ConfigException {
        assertThat(added("", "limits: {max_requests: 5}\nhealth: {server_ready: all}\naccess_log: {}"))
                .isEmpty();
    }
}
