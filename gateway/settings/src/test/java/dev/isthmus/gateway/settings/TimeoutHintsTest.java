package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimeoutHintsTest {

    private static List<String> hints(String yaml) throws ConfigException {
        return TimeoutHints.of(ConfigLoader.parse("isthmus.yaml", yaml, Path.of(".")));
    }

    @Test
    void defaultRetries_needNoHint() throws Exception {
        assertThat(hints("""
                upstreams:
                  plain: {protocol: grpc, endpoints: ["a:1", "b:1"]}
                  off: {protocol: grpc, endpoints: ["a:1"], retry: {retries: 0}}
                default_upstream: plain
                """)).isEmpty();
    }

    @Test
    void retriesAndFallbacks_withoutALimitOfAttempts_areNamed() throws Exception {
        assertThat(hints("""
                upstreams:
                  b: {protocol: grpc, endpoints: ["a:1", "b:1"], retry: {retries: 2}}
                  a: {protocol: rest, endpoints: ["c:1"], timeout: 10s}
                local: {embedded_models: true}
                models:
                  second: {upstream: a, fallback: {upstream: local, model: digits}}
                  first: {upstream: a, fallback: {upstream: local, model: digits}}
                  other: {upstream: b}
                """))
                .containsExactly(
                        "upstream 'a': a server that hangs takes the whole timeout of 10s, as there is no 'try_timeout':"
                                + " the 'fallback' of 'first', 'second' comes after it, if the client still waits",
                        "upstream 'b': a server that hangs takes the whole timeout of 60s, as there is no 'try_timeout':"
                                + " 'retry' does nothing then");
    }

    @Test
    void timeoutOfTheModel_leavesTimeForItsFallback() throws Exception {
        assertThat(hints("""
                upstreams:
                  a: {protocol: grpc, endpoints: ["a:1"]}
                local: {embedded_models: true}
                models:
                  m: {upstream: a, timeout: 2s, fallback: {upstream: local, model: digits}}
                """)).isEmpty();
    }

    @Test
    void tryTimeout_leavesTimeForThem() throws Exception {
        assertThat(hints("""
                upstreams:
                  a: {protocol: grpc, endpoints: ["a:1", "b:1"], try_timeout: 1s, retry: {retries: 2}}
                local: {embedded_models: true}
                models:
                  m: {upstream: a, fallback: {upstream: local, model: digits}}
                """)).isEmpty();
    }
}
