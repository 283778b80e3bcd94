package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.fleet.ClusterResources.CheckPace;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Balance;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import dev.isthmus.gateway.upstream.Upstream;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Servers chosen in turn, without health checks or ejection. */
public final class UncheckedReplicas {
    private UncheckedReplicas() {}

    public static ReplicaSet replicas(
            Function<DiscoveredServer, Upstream> opening,
            MeterRegistry meters,
            LongSupplier nanoTime,
            Endpoint... endpoints) {
        return replicas(opening, meters, nanoTime, null, endpoints);
    }

    static ReplicaSet replicas(
            Function<DiscoveredServer, Upstream> opening,
            MeterRegistry meters,
            LongSupplier nanoTime,
            @Nullable AdaptiveConcurrency adaptive,
            Endpoint... endpoints) {
        UpstreamConfig unchecked = unchecked(endpoints);
        UpstreamConfig turns =
                adaptive == null ? unchecked : TestConfigs.with(unchecked, Map.of("adaptiveConcurrency", adaptive));
        EmbeddedChannel stillness = new EmbeddedChannel();
        stillness.freezeTime();
        ClusterResources around = new ClusterResources(
                stillness.eventLoop(),
                UnpooledByteBufAllocator.DEFAULT,
                meters,
                nanoTime,
                new Random(1),
                (addresses, refresh, listener) -> {
                    throw new AssertionError("no names are looked up");
                },
                (metrics, authority, headers, response) -> {
                    throw new AssertionError("no queues are looked at");
                },
                new CheckPace(stillness.eventLoop(), nanoTime),
                new DrainedServers(nanoTime),
                () -> false);
        return new ReplicaSet("triton", turns, opening, Set::of, around);
    }

    private static UpstreamConfig unchecked(Endpoint... endpoints) {
        return TestConfigs.with(
                TestConfigs.upstream(UpstreamProtocol.GRPC, endpoints),
                Map.of(
                        "balance",
                        new Balance(BalancePolicy.ROUND_ROBIN, Duration.ZERO, 1),
                        "outliers",
                        new Outliers(0, Duration.ofSeconds(1), 0, 0, DefaultValues.of(ErrorRate.class))));
    }
}
