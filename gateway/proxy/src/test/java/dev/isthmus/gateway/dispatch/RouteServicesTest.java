package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.batching.RouteBatching;
import dev.isthmus.gateway.cache.ResponseCache;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.fallback.RouteFallback;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.Counter;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every kind of inference meets every service of its route. */
class RouteServicesTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    private static final int LARGE = 1 << 16;
    private static final int LOOKED_UP = 1 << 10;
    private static final String JSON =
            "{\"inputs\":[{\"name\":\"a\",\"shape\":[2,1],\"datatype\":\"INT32\",\"data\":[1,2]}]}";

    private final RoutedModel model = new RoutedModel();
    private final FakeUpstream upstream = model.upstream;
    private final FakeUpstream other = model.other;
    private final EmbeddedChannel channel = model.channel;

    /** The kinds of inference. */
    private enum Kind {
        JSON,
        BINARY,
        RAW,
        GRPC,
        IN_PARTS,
        EVENTS,
        GENERATE,
        GENERATE_EVENTS,
        MESSAGE_OF_A_STREAM;

        private Operation operation() {
            return switch (this) {
                case JSON -> rest(RestBody.ALL_JSON, RouteServicesTest.JSON.length(), false);
                case EVENTS -> rest(RestBody.ALL_JSON, RouteServicesTest.JSON.length(), true);
                case BINARY ->
                    rest(head(Integer.BYTES).length(), head(Integer.BYTES).length() + Integer.BYTES, false);
                case IN_PARTS -> rest(head(LARGE).length(), head(LARGE).length() + LARGE, false);
                case RAW -> rest(0, Integer.BYTES, false);
                case GRPC ->
                    new Operation.Infer(
                            MODEL,
                            new BodyForm.ProtobufForm(ProtobufReader.outline(Unpooled.wrappedBuffer(body())), null),
                            false);
                case GENERATE -> new Operation.Generate(MODEL, false);
                case GENERATE_EVENTS -> new Operation.Generate(MODEL, true);
                case MESSAGE_OF_A_STREAM -> new Operation.InferStream(false);
            };
        }

        private static Operation rest(long jsonLength, long length, boolean events) {
            return new Operation.Infer(MODEL, new BodyForm.RestForm(jsonLength, length, null), events);
        }

        private byte[] body() {
            return switch (this) {
                case JSON, EVENTS -> RouteServicesTest.JSON.getBytes(StandardCharsets.UTF_8);
                case BINARY -> binary(Integer.BYTES);
                case IN_PARTS -> binary(LARGE);
                case RAW -> new byte[Integer.BYTES];
                case GRPC, MESSAGE_OF_A_STREAM ->
                    ModelInferRequest.newBuilder()
                            .setModelName("m")
                            .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                                    .setName("a")
                                    .setDatatype("UINT8")
                                    .addShape(1))
                            .addRawInputContents(ByteString.copyFrom(new byte[1]))
                            .build()
                            .toByteArray();
                case GENERATE, GENERATE_EVENTS -> "{\"text_input\":\"a\"}".getBytes(StandardCharsets.UTF_8);
            };
        }

        private static String head(int bytes) {
            return "{\"inputs\":[{\"name\":\"a\",\"shape\":[" + bytes
                    + "],\"datatype\":\"UINT8\",\"parameters\":{\"binary_data_size\":" + bytes + "}}]}";
        }

        private static byte[] binary(int bytes) {
            byte[] head = head(bytes).getBytes(StandardCharsets.UTF_8);
            return Arrays.copyOf(head, head.length + bytes);
        }
    }

    /** The services, and the kinds that each of them serves; it counts those of others that it meets. */
    private enum Served {
        FALLBACK(EnumSet.allOf(Kind.class), EnumSet.noneOf(Kind.class)),
        SHADOWS(
                EnumSet.of(Kind.JSON, Kind.BINARY, Kind.RAW, Kind.GRPC, Kind.IN_PARTS),
                EnumSet.of(Kind.EVENTS, Kind.GENERATE, Kind.GENERATE_EVENTS, Kind.MESSAGE_OF_A_STREAM)),
        CACHE(EnumSet.of(Kind.JSON, Kind.BINARY, Kind.RAW, Kind.GRPC), EnumSet.of(Kind.IN_PARTS, Kind.EVENTS)),
        BATCHING(EnumSet.of(Kind.JSON, Kind.BINARY, Kind.RAW, Kind.GRPC), EnumSet.of(Kind.EVENTS));

        @SuppressWarnings("ImmutableEnumChecker") // Set.copyOf
        private final Set<Kind> kinds;

        @SuppressWarnings("ImmutableEnumChecker") // Set.copyOf
        private final Set<Kind> counted;

        Served(Set<Kind> kinds, Set<Kind> counted) {
            this.kinds = Set.copyOf(kinds);
            this.counted = Set.copyOf(counted);
        }

        private String service() {
            return name().toLowerCase(Locale.ROOT);
        }

        private Map<String, ?> settings() {
            return switch (this) {
                case FALLBACK ->
                    Map.of(
                            "fallback",
                            TestConfigs.with(
                                    DefaultValues.of(ModelConfig.Fallback.class), Map.of("upstream", "other")));
                case SHADOWS ->
                    Map.of(
                            "shadow",
                            List.of(TestConfigs.with(
                                    DefaultValues.of(ModelConfig.ShadowConfig.class),
                                    Map.of("name", "next", "upstream", "other"))));
                case CACHE ->
                    Map.of(
                            "deterministic",
                            true,
                            "cache",
                            TestConfigs.with(CacheConfig.DEFAULT, Map.of("maxRequest", LOOKED_UP)));
                case BATCHING ->
                    Map.of(
                            "batching",
                            TestConfigs.with(DefaultValues.of(BatchingConfig.class), Map.of("maxBytes", LOOKED_UP)));
            };
        }
    }

    /** Records what it is told. */
    private static final class Client implements Reply {
        private final Map<String, String> headers = new HashMap<>();
        private final List<String> told = new ArrayList<>();

        @Override
        public void headers(Map<String, String> more) {
            headers.putAll(more);
        }

        @Override
        public void message(ReplyMessage message) {
            told.add("message");
            message.release();
        }

        @Override
        public void complete() {
            told.add("complete");
        }

        @Override
        public void fail(OipException failure) {
            told.add(failure.code().name());
        }
    }

    @AfterEach
    void close() {
        model.close();
    }

    /** Sends a request of a kind on a route with these settings; the model's metadata are known. */
    private RequestSink send(Kind kind, ModelConfig config) {
        return send(kind, config, Reply.DISCARDING);
    }

    private RequestSink send(Kind kind, ModelConfig config, Reply client) {
        upstream.passesFrom = LOOKED_UP;
        upstream.beforeReturn = RouteServicesTest::describe;
        other.beforeReturn = RouteServicesTest::describe;
        Dispatcher dispatcher = new Dispatcher(
                (call, reply) -> RequestSink.ENDED,
                new InferRules(WireLimits.DEFAULT, NonFinite.TOKEN),
                model.transcoder,
                () -> null);
        RequestSink request = model.open(config, kind.operation(), dispatcher::open, ByteBufAllocator.DEFAULT, client);
        request.data(Unpooled.wrappedBuffer(kind.body()));
        request.end();
        return request;
    }

    private static void describe(FakeUpstream.ReceivedRequest received) {
        if (received.metadata) {
            received.reply.only(metadata("UINT8"));
        }
    }

    private static ReplyMessage metadata(String datatype) {
        return new ReplyMessage.Model(new ModelMetadata(
                "m",
                List.of(),
                "",
                List.of(new ModelMetadata.TensorMetadata("a", datatype, Shape.of(-1), Map.of())),
                List.of(),
                Map.of()));
    }

    private static List<FakeUpstream.ReceivedRequest> inferences(FakeUpstream server) {
        return server.requests.stream().filter(each -> !each.metadata).toList();
    }

    private double counted(Served service) {
        return model
                .meters
                .find("isthmus." + service.service().replace("shadows", "shadow") + ".requests")
                .counters()
                .stream()
                .mapToDouble(Counter::count)
                .sum();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void fallback_takesOver(Kind kind) {
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.FALLBACK.settings()));
        assertThat(inferences(other)).isEmpty();
        inferences(upstream).getFirst().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        assertThat(inferences(other)).hasSize(1);
        if (kind == Kind.MESSAGE_OF_A_STREAM) {
            assertThat(other.last().sent).isEqualTo(1);
            assertThat(other.last().ended).isTrue();
        }
        inferences(other).getFirst().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        assertThat(inferences(upstream)).hasSize(1);
        request.cancel();
    }

    /** What its model takes is known only when its server has said so. */
    @ParameterizedTest
    @EnumSource(
            value = Served.class,
            names = {"BATCHING", "CACHE"})
    void fallback_thatCannotTakeTheRequest_refusesIt(Served before) {
        List<ErrorCode> failures = new ArrayList<>();
        Reply client = new ForwardingReply(Reply.DISCARDING) {
            @Override
            public void fail(OipException failure) {
                failures.add(failure.code());
            }
        };
        ModelConfig served = TestConfigs.with(ModelConfig.of("fake"), before.settings());
        send(Kind.RAW, TestConfigs.with(served, Served.FALLBACK.settings()), client);
        other.beforeReturn = received -> {};
        inferences(upstream).getFirst().fail(ErrorCode.UNAVAILABLE, Processed.NO);
        other.only().reply.only(metadata("FP64"));
        assertThat(failures).containsExactly(ErrorCode.INVALID_ARGUMENT);
        assertThat(inferences(other)).isEmpty();
    }

    /** The target accepts the request and never answers. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void fallback_hasTheLastQuarterOfTheTime(Kind kind) {
        channel.freezeTime();
        ModelConfig timed = TestConfigs.with(ModelConfig.of("fake"), Map.of("timeout", Duration.ofHours(4)));
        RequestSink request = send(kind, TestConfigs.with(timed, Served.FALLBACK.settings()));
        pass(Duration.ofMinutes(179));
        assertThat(inferences(other)).isEmpty();
        pass(Duration.ofMinutes(2));
        assertThat(inferences(upstream).getFirst().cancelled).isTrue();
        assertThat(inferences(other)).hasSize(1);
        request.cancel();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void headersOfATarget_areNotReturnedWithTheFallbacks(Kind kind) {
        Client client = new Client();
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.FALLBACK.settings()), client);
        FakeUpstream.ReceivedRequest failing = inferences(upstream).getFirst();
        failing.reply.headers(Map.of("x-version", "1"));
        failing.fail(ErrorCode.UNAVAILABLE, Processed.NO);
        inferences(other).getFirst().reply.headers(Map.of("x-model", "small"));
        inferences(other).getFirst().fail(ErrorCode.NOT_FOUND, Processed.YES);
        assertThat(client.headers).containsExactly(Map.entry("x-model", "small"));
        request.cancel();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void headersOfAFailure_areReturnedWithIt(Kind kind) {
        Client client = new Client();
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.FALLBACK.settings()), client);
        FakeUpstream.ReceivedRequest failing = inferences(upstream).getFirst();
        failing.reply.headers(Map.of("x-version", "1"));
        failing.fail(ErrorCode.NOT_FOUND, Processed.YES);
        assertThat(client.headers).containsExactly(Map.entry("x-version", "1"));
        request.cancel();
    }

    private void pass(Duration time) {
        channel.advanceTimeBy(time.toMinutes(), TimeUnit.MINUTES);
        channel.runScheduledPendingTasks();
    }

    /** Streams to servers have no deadline that would end them. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void messageOfAStream_hasTheTimeoutOfItsModel(boolean responds) {
        channel.freezeTime();
        List<ErrorCode> failures = new ArrayList<>();
        Reply client = new ForwardingReply(Reply.DISCARDING) {
            @Override
            public void message(ReplyMessage message) {
                if (message instanceof ReplyMessage.StreamError error) {
                    failures.add(error.failure().code());
                }
                super.message(message);
            }
        };
        RequestSink request = send(
                Kind.MESSAGE_OF_A_STREAM,
                TestConfigs.with(ModelConfig.of("fake"), Map.of("timeout", Duration.ofHours(4))),
                client);
        if (responds) {
            upstream.only().message();
        }
        pass(Duration.ofMinutes(241));
        assertThat(upstream.only().cancelled).isEqualTo(!responds);
        assertThat(failures).isEqualTo(responds ? List.of() : List.of(ErrorCode.DEADLINE_EXCEEDED));
        request.cancel();
    }

    /** What it was asked may end after it was cancelled, as a run of the local backend does. */
    @ParameterizedTest
    @EnumSource(value = Kind.class, mode = EnumSource.Mode.EXCLUDE, names = "MESSAGE_OF_A_STREAM")
    void target_isNotHeard_onceTheFallbackHasTheRequest(Kind kind) {
        channel.freezeTime();
        Client client = new Client();
        ModelConfig timed = TestConfigs.with(ModelConfig.of("fake"), Map.of("timeout", Duration.ofHours(4)));
        send(kind, TestConfigs.with(timed, Served.FALLBACK.settings()), client);
        pass(Duration.ofMinutes(181));
        FakeUpstream.ReceivedRequest late = inferences(upstream).getFirst();
        late.reply.headers(Map.of("x-late", "1"));
        late.fail(ErrorCode.CANCELLED, Processed.YES);
        late.respond();
        assertThat(client.told).isEmpty();
        inferences(other).getFirst().fail(ErrorCode.NOT_FOUND, Processed.YES);
        assertThat(client.told).containsExactly("NOT_FOUND");
        assertThat(client.headers).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void fallback_leavesARequestThatHasAResponse(Kind kind) {
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.FALLBACK.settings()));
        FakeUpstream.ReceivedRequest received = inferences(upstream).getFirst();
        received.reply.message(new ReplyMessage.StreamError(new OipException(ErrorCode.UNKNOWN, "it broke"), ""));
        received.fail(ErrorCode.UNAVAILABLE, Processed.NO);
        assertThat(inferences(other)).isEmpty();
        request.cancel();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shadows_copyOrCount(Kind kind) {
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.SHADOWS.settings()));
        channel.runPendingTasks();
        assertThat(inferences(upstream)).hasSize(1);
        assertThat(inferences(other)).hasSize(Served.SHADOWS.kinds.contains(kind) ? 1 : 0);
        assertThat(counted(Served.SHADOWS)).isEqualTo(Served.SHADOWS.counted.contains(kind) ? 1 : 0);
        request.cancel();
        inferences(other).forEach(copy -> copy.fail(ErrorCode.UNAVAILABLE, Processed.NO));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void cache_looksUpOrCounts(Kind kind) {
        met(Served.CACHE, kind);
    }

    @ParameterizedTest
    @CsvSource({"IN_PARTS, large", "EVENTS, stream"})
    void cache_saysWhyItWasBypassed(Kind kind, String reason) {
        Client client = new Client();
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), Served.CACHE.settings()), client);
        assertThat(client.headers).containsEntry("cache-status", "isthmus; fwd=bypass; detail=" + reason);
        request.cancel();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void batching_joinsOrCounts(Kind kind) {
        met(Served.BATCHING, kind);
    }

    private void met(Served service, Kind kind) {
        RequestSink request = send(kind, TestConfigs.with(ModelConfig.of("fake"), service.settings()));
        assertThat(inferences(upstream)).hasSize(1);
        boolean meets = service.kinds.contains(kind) || service.counted.contains(kind);
        assertThat(counted(service)).isEqualTo(meets ? 1 : 0);
        request.cancel();
    }

    /** Whoever adds a service or a kind of inference says above what becomes of it. */
    @Test
    void everything_isNamedHere() {
        ModelConfig all = ModelConfig.of("fake");
        for (Served each : Served.values()) {
            all = TestConfigs.with(all, each.settings());
        }
        RoutingTable routes = model.routes(all);
        RoutePolicyTable table = model.policies(routes);
        assertThat(table.of(routes.route(MODEL)).services())
                .hasExactlyElementsOfTypes(
                        RouteFallback.class, Shadows.class, ResponseCache.class, RouteBatching.class);
        table.close();
        assertThat(names(UpstreamRequest.class))
                .containsExactlyInAnyOrder(
                        "InferenceRequest",
                        "InferenceInParts",
                        "GenerateRequest",
                        "ManageRequest",
                        "ServerReadyRequest",
                        "ServerMetadataRequest",
                        "ModelReadyRequest",
                        "ModelMetadataRequest",
                        "ModelNamesRequest");
        assertThat(names(BodyForm.class)).containsExactlyInAnyOrder("RestForm", "ProtobufForm");
        assertThat(names(Operation.class))
                .containsExactlyInAnyOrder(
                        "Infer",
                        "InferStream",
                        "Generate",
                        "ServerLive",
                        "ServerReady",
                        "GatewayReady",
                        "CheckHealth",
                        "Reflect",
                        "ReadServerMetadata",
                        "ModelReady",
                        "ReadModelMetadata",
                        "DescribeApi",
                        "Validate",
                        "Manage");
    }

    private static Set<String> names(Class<?> sealed) {
        return Arrays.stream(sealed.getPermittedSubclasses())
                .map(Class::getSimpleName)
                .collect(Collectors.toSet());
    }
}
