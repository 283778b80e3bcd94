package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
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
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class InferCallTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    private static final String REQUEST =
            "{\"inputs\":[{\"name\":\"a\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1]}]}";

    private final FakeUpstream upstream = new FakeUpstream();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Ramps ramps = new Ramps(
            meters, System::nanoTime, InstantSource.system(), channel.eventLoop(), new RampStateFile(null), null);
    private final ShadowRuntime shadows =
            new ShadowRuntime(meters, new Random(1), System::nanoTime, DifferenceListener.NONE, ShadowLimits.DEFAULT);
    private final RequestSink request = open();

    private RequestSink open() {
        Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
        RoutingTable routes = new RoutingTable(
                Map.of("m", ModelConfig.of("fake")),
                name -> upstream,
                null,
                Map::of,
                SelectionState.of(System::nanoTime));
        RoutePolicyTable policies = new RoutePolicyTable(
                routes,
                new Admission.ConcurrencyLimits(1, 0),
                transcoder,
                new RoutePolicyTable.PolicyResources(
                        meters,
                        System::nanoTime,
                        shadows,
                        ramps,
                        new MemoryBudget(1, meters),
                        RateCounters.ofThisGateway(System::nanoTime)),
                null);
        Operation.Infer infer = new Operation.Infer(MODEL, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false);
        Call call = new Call(infer, Call.NO_DEADLINE, Map.of(), channel.eventLoop(), ByteBufAllocator.DEFAULT);
        Routing routing = new Routing(routes, (route, model) -> "m", policies, AccessPolicy.of(GatewayConfig.DEFAULT));
        Function<Exchange, RequestSink> handler =
                x -> IncomingRequest.of(x, infer, transcoder, new InferRules(WireLimits.DEFAULT, NonFinite.TOKEN));
        return new Layers(List.of(routing), handler, meters, System::nanoTime).open(call, Reply.DISCARDING);
    }

    @AfterEach
    void close() {
        ramps.close();
        shadows.close();
        channel.finishAndReleaseAll();
    }

    private void send() {
        request.data(Unpooled.copiedBuffer(REQUEST, StandardCharsets.UTF_8));
        request.end();
    }

    @Test
    void cancelledWhileTheCallIsStarted_cancelsTheCall() {
        upstream.beforeReturn = received -> request.cancel();
        send();
        assertThat(upstream.only().cancelled).isTrue();
    }

    @Test
    void invalidResponseWhileTheCallIsStarted_cancelsTheCall() {
        byte[] truncated = {0x0a, 0x7f};
        upstream.beforeReturn = received -> received.reply.message(
                new ReplyMessage.Inference(new InferMessage.ProtobufMessage(Unpooled.copiedBuffer(truncated))));
        send();
        assertThat(upstream.only().cancelled).isTrue();
    }
}
