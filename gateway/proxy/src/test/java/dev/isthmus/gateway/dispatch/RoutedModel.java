package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.RoutedCall.Routing;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.shadow.DifferenceListener;
import dev.isthmus.gateway.shadow.ShadowLimits;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;

/** The model {@code m} on upstream {@code fake}, with its route's policies; calls come from no listener. */
final class RoutedModel implements AutoCloseable {
    final FakeUpstream upstream = new FakeUpstream();
    /** Every upstream that is not {@code fake}. */
    final FakeUpstream other = new FakeUpstream();

    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final EmbeddedChannel channel = new EmbeddedChannel();
    final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
    private final Ramps ramps = new Ramps(
            meters, System::nanoTime, InstantSource.system(), channel.eventLoop(), new RampStateFile(null), null);
    private final ShadowRuntime shadows =
            new ShadowRuntime(meters, new Random(1), System::nanoTime, DifferenceListener.NONE, ShadowLimits.DEFAULT);

    RoutingTable routes(ModelConfig config) {
        return new RoutingTable(
                Map.of("m", config),
                name -> name.equals("fake") ? upstream : other,
                null,
                Map::of,
                SelectionState.of(System::nanoTime));
    }

    RoutePolicyTable policies(RoutingTable routes) {
        return new RoutePolicyTable(
                routes,
                new Admission.ConcurrencyLimits(1, 0),
                transcoder,
                new RoutePolicyTable.PolicyResources(
                        meters,
                        System::nanoTime,
                        shadows,
                        ramps,
                        new MemoryBudget(1 << 20, meters),
                        RateCounters.ofThisGateway(System::nanoTime)),
                null);
    }

    /** Opens a call on a route with these settings. */
    RequestSink open(
            ModelConfig config,
            Operation operation,
            Function<Exchange, RequestSink> handler,
            ByteBufAllocator allocator,
            Reply client) {
        RoutingTable routes = routes(config);
        Routing routing =
                new Routing(routes, (route, model) -> "m", policies(routes), AccessPolicy.of(GatewayConfig.DEFAULT));
        Call call = new Call(operation, Call.NO_DEADLINE, Map.of(), channel.eventLoop(), allocator);
        return new Layers(List.of(routing), handler, meters, System::nanoTime).open(call, client);
    }

    @Override
    public void close() {
        ramps.close();
        shadows.close();
        channel.finishAndReleaseAll();
    }
}
