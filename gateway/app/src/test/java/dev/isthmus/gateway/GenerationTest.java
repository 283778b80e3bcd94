package dev.isthmus.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.RoutePolicyTable;
import dev.isthmus.gateway.explain.RouteExplanation.LayerExplanation;
import dev.isthmus.gateway.ingress.ConnectionPolicies;
import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.AccessLogConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ExternalAuthorizationConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.shadow.DifferenceListener;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GenerationTest {
    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final ScheduledExecutorService closer = Executors.newSingleThreadScheduledExecutor();
    private final Upstreams.UpstreamResources upstreams = Upstreams.UpstreamResources.real(
            loops.next(),
            ByteBufAllocator.DEFAULT,
            new SimpleMeterRegistry(),
            new TlsRegistry(new SimpleMeterRegistry()),
            new ConnectionTable(),
            () -> false);
    private final MeterRegistry meters = new SimpleMeterRegistry();
    private final Ramps ramps =
            new Ramps(meters, System::nanoTime, InstantSource.system(), closer, new RampStateFile(null), null);
    private final ShadowRuntime shadows =
            new ShadowRuntime(meters, new Random(1), System::nanoTime, DifferenceListener.NONE, ShadowLimits.DEFAULT);
    private final ProcessMetrics process = new ProcessMetrics("1", "0");
    private final Semaphore closed = new Semaphore(0);

    @AfterEach
    void end() {
        process.close();
        ramps.close();
        shadows.close();
        closer.shutdownNow();
        upstreams.pool().close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private Generation generation(Duration patience) {
        return generation(GatewayConfig.embedded(), patience);
    }

    private Generation generation(GatewayConfig config, Duration patience) {
        GatewayTelemetry telemetry = new GatewayTelemetry(process);
        return new Generation(
                config,
                new Generation.SharedResources(
                        loops,
                        upstreams,
                        SelectionState.of(System::nanoTime),
                        new RoutePolicyTable.PolicyResources(
                                meters,
                                System::nanoTime,
                                shadows,
                                ramps,
                                new MemoryBudget(1, meters),
                                RateCounters.ofThisGateway(System::nanoTime)),
                        telemetry,
                        closer,
                        patience,
                        () -> null,
                        new ConnectionPolicies(ConnectionEvents.NONE),
                        () -> {
                            throw new AssertionError("no health is watched");
                        },
                        closed::release),
                null,
                null);
    }

    /** A call in flight. */
    private static RequestSink open(Generation generation) {
        assertThat(generation.enter()).isTrue();
        Call call = new Call(
                new Operation.ServerLive(),
                Call.NO_DEADLINE,
                Map.of(),
                new EmbeddedChannel().eventLoop(),
                ByteBufAllocator.DEFAULT);
        return generation.entry().calls().open(call, Reply.DISCARDING);
    }

    private boolean closesSoon() throws InterruptedException {
        return closed.tryAcquire(20, TimeUnit.SECONDS);
    }

    /** `isthmus explain` says what is in the list, for a configuration with little and one with much. */
    @Test
    void layers_areThoseThatAreExplained(@TempDir Path folder) throws Exception {
        String much = """
                upstreams:
                  a: {protocol: grpc, endpoints: ["127.0.0.1:1"]}
                  b: {protocol: rest, endpoints: ["127.0.0.1:1"]}
                models:
                  m:
                    targets:
                      - {name: old, upstream: a, weight: 99}
                      - {name: new, upstream: b, weight: 1}
                    ramp: {target: new, steps: [1%, 100%]}
                    rates: [{requests_per_second: 5}]
                  n:
                    upstream: a
                    shadow: [{upstream: b}]
                access_log: {file: "FOLDER/access.log"}
                payload_log: {file: "FOLDER/payloads.log"}
                tracing: {endpoint: "http://127.0.0.1:4318/v1/traces"}
                """.replace("FOLDER", folder.toString());
        for (GatewayConfig config :
                List.of(GatewayConfig.embedded(), ConfigLoader.parse("isthmus.yaml", much, folder))) {
            Generation generation = generation(config, Duration.ofHours(1));
            assertThat(LayerExplanation.of(config, ModelConfig.DEFAULT))
                    .extracting(LayerExplanation::name)
                    .isEqualTo(generation.layers().stream().map(Layer::name).toList());
            generation.close();
        }
    }

    /** docs/internals/architecture.md lists them in this order. */
    @Test
    void layers_areOnThePage() throws Exception {
        GatewayConfig all = TestConfigs.with(
                GatewayConfig.embedded(),
                Map.of(
                        "authentication", DefaultValues.of(AuthenticationConfig.class),
                        "externalAuthorization",
                                new ExternalAuthorizationConfig(
                                        List.of(new Endpoint("127.0.0.1", 9191)),
                                        null,
                                        Duration.ofSeconds(1),
                                        ExternalAuthorizationConfig.OnFailure.DENY,
                                        List.of(),
                                        null,
                                        1),
                        "accessLog", DefaultValues.of(AccessLogConfig.class),
                        "payloadLog", DefaultValues.of(PayloadLogConfig.class),
                        "tracing", DefaultValues.of(TracingConfig.class),
                        "models",
                                Map.of(
                                        "m",
                                        TestConfigs.with(
                                                ModelConfig.DEFAULT,
                                                Map.of(
                                                        "cache",
                                                        CacheConfig.DEFAULT,
                                                        "rates",
                                                        List.of(DefaultValues.of(ModelConfig.Rate.class)),
                                                        "shadow",
                                                        List.of(DefaultValues.of(ModelConfig.ShadowConfig.class)),
                                                        "ramp",
                                                        DefaultValues.of(ModelConfig.RampConfig.class))))));
        String page =
                Files.readString(Path.of(System.getProperty("isthmus.root", ".."), "docs/internals/architecture.md"));
        int layers = page.indexOf("### Layers");
        String section = page.substring(layers, page.indexOf("\n## ", layers));
        assertThat(Pattern.compile("(?m)^\\| `([a-z_]+)` \\|")
                        .matcher(section)
                        .results()
                        .map(row -> row.group(1)))
                .containsExactlyElementsOf(LayerExplanation.of(all, ModelConfig.DEFAULT).stream()
                        .map(LayerExplanation::name)
                        .toList());
    }

    @Test
    void retired_withoutCalls_isClosed() throws Exception {
        Generation generation = generation(Duration.ofHours(1));
        generation.retire(null);
        assertThat(closesSoon()).isTrue();
        assertThat(generation.enter()).isFalse();
    }

    @Test
    void retired_isClosedWithItsLastCall() throws Exception {
        Generation generation = generation(Duration.ofHours(1));
        RequestSink one = open(generation);
        RequestSink two = open(generation);
        generation.retire(null);
        one.end();
        assertThat(closed.availablePermits()).isZero();
        two.cancel();
        assertThat(closesSoon()).isTrue();
    }

    @Test
    void retired_withACallThatNeverEnds_isClosedWhenPatienceIsOver() throws Exception {
        Generation generation = generation(Duration.ofMillis(1));
        RequestSink call = open(generation);
        generation.retire(null);
        assertThat(closesSoon()).isTrue();
        call.cancel();
        assertThat(closesSoon()).isTrue();
    }

    @Test
    void callsThatHaveEnded_doNotCloseTheCurrentOne() {
        Generation generation = generation(Duration.ofHours(1));
        open(generation).end();
        assertThat(generation.enter()).isTrue();
        assertThat(closed.availablePermits()).isZero();
    }
}
