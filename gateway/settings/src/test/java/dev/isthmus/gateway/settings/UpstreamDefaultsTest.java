package dev.isthmus.gateway.settings;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UpstreamDefaultsTest {
    private static final String UPSTREAMS = """
            upstreams:
              a: {endpoints: ["a:1"]}
              b: {endpoints: ["b:1"], protocol: rest, timeout: 9s, retry: {retries: 3}, checks: }
            default_upstream: a
            """;

    private static GatewayConfig parse(String yaml) throws ConfigException {
        return ConfigLoader.parse("f.yaml", yaml, Path.of("."));
    }

    private static List<String> problems(String yaml) {
        return Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> parse(yaml)))
                .problems();
    }

    @Test
    void upstream_hasWhatItDoesNotSay() throws ConfigException {
        Map<String, UpstreamConfig> upstreams = parse(
                        "upstream_defaults: {protocol: grpc, timeout: 5s, retry: {retries: 2, on: [unsent], budget: 5%},"
                                + " checks: {interval: 4s}}\n" + UPSTREAMS)
                .upstreams();
        UpstreamConfig a = requireNonNull(upstreams.get("a"));
        assertThat(a.protocol()).isEqualTo(UpstreamProtocol.GRPC);
        assertThat(a.timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(a.retry()).isEqualTo(new UpstreamConfig.Retry(2, Set.of(RetryOn.UNSENT), 0.05, 4 << 20));
        assertThat(a.connectTimeout()).isEqualTo(UpstreamConfig.DEFAULT.connectTimeout());
        UpstreamConfig b = requireNonNull(upstreams.get("b"));
        assertThat(b.protocol()).isEqualTo(UpstreamProtocol.REST);
        assertThat(b.timeout()).isEqualTo(Duration.ofSeconds(9));
        assertThat(b.retry()).isEqualTo(new UpstreamConfig.Retry(3, Set.of(RetryOn.UNSENT), 0.05, 4 << 20));
        assertThat(b.checks().interval()).isEqualTo(Duration.ofSeconds(4));
        assertThat(b.checks().timeout())
                .isEqualTo(DefaultValues.of(UpstreamConfig.Checks.class).timeout());
    }

    @Test
    void discoveredUpstreams_haveThemToo() throws ConfigException {
        String discover = "discover: {kserve: [{namespace: a}, {namespace: b, upstream: {retry: {retries: 3}}}]}\n";
        List<DiscoverConfig.KServeConfig> without = parse(discover).discover().kserve();
        assertThat(without.get(0).upstream()).isEqualTo(UpstreamConfig.DEFAULT);
        assertThat(without.get(1).upstream().retry().retries()).isEqualTo(3);
        List<DiscoverConfig.KServeConfig> with = parse(
                        discover + "upstream_defaults: {timeout: 5s, retry: {retries: 2, budget: 5%}}\n")
                .discover()
                .kserve();
        assertThat(with.get(0).upstream().timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(with.get(0).upstream().retry().retries()).isEqualTo(2);
        assertThat(with.get(1).upstream().timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(with.get(1).upstream().retry())
                .isEqualTo(new UpstreamConfig.Retry(3, UpstreamConfig.Retry.DEFAULT.on(), 0.05, 4 << 20));
    }

    @Test
    void list_isTakenWhole() throws ConfigException {
        GatewayConfig config = parse("upstream_defaults: {protocol: grpc, retry: {on: [lost, unsent]}}\n"
                + "upstreams: {a: {endpoints: ['a:1'], retry: {on: [unavailable]}}}\ndefault_upstream: a");
        UpstreamConfig a = requireNonNull(config.upstreams().get("a"));
        assertThat(a.retry().on()).containsExactly(RetryOn.UNAVAILABLE);
    }

    @Test
    void withoutDefaults_orWithNone_nothingChanges() throws ConfigException {
        String yaml = "{upstreams: {t: {protocol: grpc, endpoints: ['a:1']}}, default_upstream: t%s}";
        assertThat(parse(yaml.formatted(", upstream_defaults: ")))
                .isEqualTo(parse(yaml.formatted(", upstream_defaults: {}")))
                .isEqualTo(parse(yaml.formatted("")));
    }

    @Test
    void effectiveConfiguration_hasThemInEachUpstream() throws ConfigException {
        GatewayConfig config = parse("upstream_defaults: {protocol: grpc, timeout: 5s}\n" + UPSTREAMS);
        Map<String, Object> document = config.document();
        assertThat(document).doesNotContainKey("upstream_defaults");
        Map<?, ?> upstreams = (Map<?, ?>) requireNonNull(document.get("upstreams"));
        Map<?, ?> a = (Map<?, ?>) requireNonNull(upstreams.get("a"));
        assertThat(a.get("timeout")).isEqualTo("5s");
    }

    @Test
    void changedDefault_isReportedOfTheUpstreamsThatTakeIt() throws ConfigException {
        GatewayConfig before = parse("upstream_defaults: {protocol: grpc}\n" + UPSTREAMS);
        GatewayConfig after = parse("upstream_defaults: {protocol: grpc, timeout: 5s}\n" + UPSTREAMS);
        assertThat(ConfigDiff.of(before, after).changes()).containsExactly("upstream 'a': timeout: 60s -> 5s");
    }

    @Test
    void problem_isReportedOnce_whereItIs() {
        assertThat(problems("""
                        upstream_defaults:
                          protocol: grcp
                          timeout: 5
                          retry: {retires: 2}
                          balance: 7
                          outliers: {max_ejected: 0.5}
                        """ + UPSTREAMS))
                .satisfiesExactly(
                        problem -> assertThat(problem)
                                .startsWith("f.yaml:2:13: upstream_defaults: protocol: one of grpc, rest"),
                        problem ->
                                assertThat(problem).startsWith("f.yaml:3:12: upstream_defaults: timeout: a duration"),
                        problem -> assertThat(problem)
                                .startsWith("f.yaml:4:11: unknown key 'retires' in upstream_defaults: retry"),
                        problem -> assertThat(problem).startsWith("f.yaml:5:12: upstream_defaults: balance: an object"),
                        problem -> assertThat(problem)
                                .startsWith("f.yaml:6:27: upstream_defaults: outliers: max_ejected: a share"));
    }

    @Test
    void problemWithoutUpstreams_isReported() {
        assertThat(problems(
                        "{local: {embedded_models: true}, default_upstream: local, upstream_defaults: {timeout: x}}"))
                .singleElement()
                .asString()
                .contains("upstream_defaults: timeout: a duration");
        assertThat(problems("{local: {embedded_models: true}, default_upstream: local, upstream_defaults: [x]}"))
                .singleElement()
                .asString()
                .contains("upstream_defaults: an object is expected, got a list");
    }

    /** The defaults alone may be inconsistent: only the merged upstreams are checked. */
    @Test
    void checkOfAnUpstream_isOfWhatItHasInTheEnd() throws ConfigException {
        String yaml = "upstream_defaults: {protocol: grpc, try_timeout: 90s}\n"
                + "upstreams: {a: {endpoints: ['a:1'], timeout: %s}, b: {endpoints: ['b:1'], timeout: %s},"
                + " c: {endpoints: ['c:1'], timeout: 100s}}\ndefault_upstream: a";
        assertThat(parse(yaml.formatted("100s", "2m")).upstreams()).hasSize(3);
        assertThat(problems(yaml.formatted("100s", "80s")))
                .containsExactly("f.yaml:1:50: upstream 'b': try_timeout: less than the timeout of 80s for all attempts"
                        + " is expected, got '90s'");
        assertThat(problems(yaml.formatted("70s", "80s")))
                .singleElement()
                .asString()
                .contains("upstream 'a'");
    }

    @Test
    void missingKey_isReportedOfTheUpstream() {
        assertThat(problems("""
                        upstream_defaults: {timeout: 5s}
                        upstreams:
                          a: {endpoints: ['a:1'], protocol: rest}
                          b: {protocol: grpc}
                          c:
                        default_upstream: a"""))
                .containsExactly(
                        "f.yaml:4:6: upstream 'b': 'endpoints' is missing",
                        "f.yaml:5:5: upstream 'c': 'protocol' is missing",
                        "f.yaml:5:5: upstream 'c': 'endpoints' is missing");
    }

    @Test
    void mergeKeysAndAnchors_comeFirst() throws ConfigException {
        Map<String, UpstreamConfig> upstreams = parse("""
                        upstream_defaults: &d {protocol: grpc, timeout: 5s, connect_timeout: 3s}
                        upstreams:
                          a: &a {endpoints: ["a:1"], timeout: 6s}
                          b: {<<: *a, endpoints: ["b:1"]}
                          c: {<<: *d, endpoints: ["c:1"], connect_timeout: 4s}
                          d: *a
                        default_upstream: a
                        """).upstreams();
        UpstreamConfig b = requireNonNull(upstreams.get("b"));
        assertThat(b.timeout()).isEqualTo(Duration.ofSeconds(6));
        assertThat(b.connectTimeout()).isEqualTo(Duration.ofSeconds(3));
        UpstreamConfig c = requireNonNull(upstreams.get("c"));
        assertThat(c.timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(c.connectTimeout()).isEqualTo(Duration.ofSeconds(4));
        assertThat(upstreams.get("d")).isEqualTo(upstreams.get("a"));
    }
}
