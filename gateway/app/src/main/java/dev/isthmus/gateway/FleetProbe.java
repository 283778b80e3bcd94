package dev.isthmus.gateway;

import dev.isthmus.gateway.catalogue.FleetSurvey;
import dev.isthmus.gateway.catalogue.FleetSurvey.FleetReport;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;

/** Asks the servers of a configuration what they are, with the clients of a gateway, without serving. */
public final class FleetProbe {
    private FleetProbe() {}

    /**
     * Connects to every server. Blocks until all have responded, for at most the timeout and the time that resolving
     * names takes.
     *
     * @throws OipException if the local backend's repository cannot be read
     */
    public static FleetReport of(GatewayConfig config, Duration timeout) throws InterruptedException {
        EventLoopGroup loops = EventLoops.start(Transport.best());
        try {
            return of(config, timeout, loops);
        } finally {
            EventLoops.stop(loops);
        }
    }

    private static FleetReport of(GatewayConfig config, Duration timeout, EventLoopGroup loops)
            throws InterruptedException {
        MeterRegistry meters = new SimpleMeterRegistry();
        ByteBufAllocator allocator = ByteBufAllocator.DEFAULT;
        Upstreams.UpstreamResources resources = Upstreams.UpstreamResources.real(
                loops.next(), allocator, meters, new TlsRegistry(meters), new ConnectionTable(), () -> false);
        try (Upstreams upstreams = new Upstreams(config, resources)) {
            String fallback = config.defaultUpstream();
            RoutingTable routes = new RoutingTable(
                    config.models(),
                    upstreams::required,
                    fallback == null ? null : upstreams.required(fallback),
                    Map::of,
                    SelectionState.of(System::nanoTime));
            resources.checked().configure(routes);
            upstreams.awaitResolution(config);
            upstreams.awaitLocalModels(() -> false);
            return FleetSurvey.of(
                            upstreams.all(),
                            new ModelLocations(routes, config.health().modelReady()),
                            loops.next(),
                            allocator,
                            timeout)
                    .get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
