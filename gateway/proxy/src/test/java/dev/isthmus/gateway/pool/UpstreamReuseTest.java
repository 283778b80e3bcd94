package dev.isthmus.gateway.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.upstream.Upstream;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a comparison of configurations says of an upstream is what becomes of it. */
class UpstreamReuseTest {
    private static final String UPSTREAM = "upstreams: {u: {protocol: rest, endpoints: ['127.0.0.1:1']}}\n";

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final Upstreams.UpstreamResources resources = Upstreams.UpstreamResources.real(
            loops.next(),
            ByteBufAllocator.DEFAULT,
            new SimpleMeterRegistry(),
            new TlsRegistry(new SimpleMeterRegistry()),
            new ConnectionTable(),
            () -> false);

    @AfterEach
    void end() {
        resources.pool().close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static GatewayConfig parse(String more) throws ConfigException {
        return ConfigLoader.parse("f.yaml", UPSTREAM + "default_upstream: u\n" + more, Path.of("."));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            upstream_defaults: {timeout: 7s}             | false
            upstream_defaults: {retry: {retries: 3}}     | false
            upstream_defaults: {checks: {interval: 7s}}   | false
            limits: {max_body_size: 1MiB}                | false
            limits: {max_management_response_size: 1KiB} | false
            headers: {return: [a]}                       | false
            headers: {forward: [a]}                      | true
            limits: {max_requests: 7}                    | true
            limits: {max_tensors: 7}                     | true
            connections: {idle_timeout: 7s}              | true
            kubernetes: {api_server: "https://k8s"}      | true
            health: {server_ready: all}                  | true
            models: {m: {upstream: u}}                   | true
            """)
    void upstream_isKept_ifNothingElseIsSaid(String change, boolean kept) throws ConfigException {
        GatewayConfig before = parse("");
        GatewayConfig after = parse(change);
        try (Upstreams old = new Upstreams(before, resources);
                Upstreams next = new Upstreams(after, resources)) {
            assertThat(next.required("u") == old.required("u")).isEqualTo(kept);
        }
        assertThat(ConfigDiff.of(before, after).effects().stream().noneMatch(each -> each.startsWith("upstream 'u': ")))
                .isEqualTo(kept);
    }

    @Test
    void endpointThatIsAdded_leavesTheOthersAsTheyAre() throws ConfigException {
        GatewayConfig before = parse("");
        String added = UPSTREAM.replace("127.0.0.1:1'", "127.0.0.1:1', '127.0.0.1:2'");
        GatewayConfig after = ConfigLoader.parse("f.yaml", added + "default_upstream: u\n", Path.of("."));
        try (Upstreams old = new Upstreams(before, resources)) {
            Cluster cluster = (Cluster) old.required("u");
            Upstream first = cluster.replicas().members().getFirst().server();
            try (Upstreams next = new Upstreams(after, resources)) {
                assertThat(next.required("u")).isSameAs(cluster);
                // It may still be rejected.
                assertThat(cluster.replicas().members())
                        .extracting(ReplicaStatus::label)
                        .containsExactly("127.0.0.1:1");
                next.install();
                assertThat(cluster.replicas().members())
                        .extracting(ReplicaStatus::label)
                        .containsExactly("127.0.0.1:1", "127.0.0.1:2");
                assertThat(cluster.replicas().members().getFirst().server()).isSameAs(first);
            }
        }
        assertThat(ConfigDiff.of(before, after).effects())
                .containsExactly("upstream 'u': servers that stay keep their connections, health and ejections");
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1:1", "localhost:1"})
    void headersThatChange_leaveTheServersAsTheyAre(String endpoint) throws ConfigException {
        String config = UPSTREAM.replace("127.0.0.1:1", endpoint) + "default_upstream: u\n";
        GatewayConfig before = ConfigLoader.parse("f.yaml", config, Path.of("."));
        GatewayConfig after =
                ConfigLoader.parse("f.yaml", config + "upstream_defaults: {headers: {x-key: k}}", Path.of("."));
        try (Upstreams old = new Upstreams(before, resources)) {
            Cluster cluster = (Cluster) old.required("u");
            await().until(() -> cluster.replicas().members().size() == 1);
            Upstream server = cluster.replicas().members().getFirst().server();
            try (Upstreams next = new Upstreams(after, resources)) {
                next.install();
                assertThat(next.required("u")).isSameAs(cluster);
                assertThat(cluster.replicas().members().getFirst().server()).isSameAs(server);
            }
        }
        assertThat(ConfigDiff.of(before, after).effects())
                .containsExactly("upstream 'u': servers that stay keep their connections, health and ejections");
    }

    @Test
    void endpointsThatAreAllReplaced_areAnotherUpstream_untilThoseOfBeforeHaveEnded() throws ConfigException {
        GatewayConfig before = parse("");
        GatewayConfig after = ConfigLoader.parse(
                "f.yaml", UPSTREAM.replace("127.0.0.1:1'", "127.0.0.1:2'") + "default_upstream: u\n", Path.of("."));
        try (Upstreams old = new Upstreams(before, resources);
                Upstreams next = new Upstreams(after, resources)) {
            assertThat(((Cluster) next.required("u")).replicas().members())
                    .extracting(ReplicaStatus::label)
                    .containsExactly("127.0.0.1:2");
            assertThat(((Cluster) old.required("u")).replicas().members())
                    .extracting(ReplicaStatus::label)
                    .containsExactly("127.0.0.1:1");
        }
        assertThat(ConfigDiff.of(before, after).effects())
                .singleElement()
                .asString()
                .startsWith("upstream 'u': its connections close after its last call");
    }
}
