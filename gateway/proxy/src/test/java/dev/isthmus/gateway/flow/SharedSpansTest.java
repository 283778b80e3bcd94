package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.flow.FakeCollector.attributes;
import static dev.isthmus.gateway.flow.FakeCollector.one;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_CLIENT;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_INTERNAL;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_SERVER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.opentelemetry.proto.trace.v1.Span;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The spans of calls that have no attempt of their own: joined ones, and those that a cache answers. */
class SharedSpansTest {
    private static final Metadata.Key<String> TRACEPARENT =
            Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);
    private static final String UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    private final BlockingQueue<HeldCall> held = new LinkedBlockingQueue<>();
    private FakeCollector collector;
    private FakeGrpcServer server;

    private record HeldCall(ServerCall<byte[], byte[]> call, ModelInferRequest request) {
        void respond() {
            FakeGrpcServer.respond(call, CachedStage.response(request).toByteArray());
        }
    }

    @BeforeEach
    void start() throws Exception {
        collector = new FakeCollector();
        server = CachedStage.server((message, call) -> held.add(new HeldCall(call, Infer.request(message))));
    }

    @AfterEach
    void stop() {
        server.close();
        collector.close();
    }

    private Stage stage(Map<String, ?> model) throws Exception {
        GatewayConfig config = Stage.config(
                Map.of("server", Stage.grpc(server, ServerDialect.TRITON)),
                Map.of("m", TestConfigs.with(ModelConfig.of("server"), new HashMap<>(model))),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false);
        TracingConfig tracing = TestConfigs.with(
                DefaultValues.of(TracingConfig.class), Map.of("endpoint", collector.endpoint(), "sample", 1.0));
        return Stage.with(
                TestConfigs.with(config, Map.of("tracing", tracing, "headers", GatewayConfig.Headers.DEFAULT)));
    }

    private static GrpcClient send(Stage stage, String id, int value, Metadata metadata) {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId(id);
        request.addInputsBuilder().setName("x").setDatatype("UINT8").addShape(1).addShape(1);
        request.addRawInputContents(ByteString.copyFrom(new byte[] {(byte) value}));
        return GrpcClient.ask(
                stage.channel(), "ModelInfer", metadata, request.build().toByteArray());
    }

    private static GrpcClient send(Stage stage, String id, int value) {
        return send(stage, id, value, new Metadata());
    }

    private static Metadata unsampled() {
        Metadata metadata = new Metadata();
        metadata.put(TRACEPARENT, UNSAMPLED);
        return metadata;
    }

    private HeldCall next() throws Exception {
        return Objects.requireNonNull(held.poll(30, TimeUnit.SECONDS), "no inference at the server");
    }

    private static void assertOk(GrpcClient... clients) throws Exception {
        for (GrpcClient each : clients) {
            assertThat(each.status()).isEqualTo(Status.OK);
        }
    }

    private static List<String> links(Span span) {
        return span.getLinksList().stream()
                .map(link -> HexFormat.of().formatHex(link.getSpanId().toByteArray()))
                .toList();
    }

    /** A batch of two is complete, and sent, while another call is under way. */
    private static Map<String, Object> pairs() {
        return Map.of("batching", new BatchingConfig(2, 10_000_000, 1 << 20));
    }

    @Test
    void joinedCall_hasASpan_linkedToThoseOfItsCalls() throws Exception {
        try (Stage stage = stage(pairs())) {
            GrpcClient first = send(stage, "first", 0);
            HeldCall held = next();
            GrpcClient one = send(stage, "one", 1);
            GrpcClient two = send(stage, "two", 2);
            HeldCall joined = next();
            assertThat(joined.request().getInputs(0).getShape(0)).isEqualTo(2);
            joined.respond();
            held.respond();
            assertOk(first, one, two);

            List<Span> spans = collector.spans(6);
            Span call = one(spans, SPAN_KIND_INTERNAL);
            assertThat(call.getName()).isEqualTo("joined call");
            assertThat(attributes(call)).containsEntry("isthmus.joined", 2L);
            List<Span> calls = FakeCollector.all(spans, SPAN_KIND_SERVER);
            Span parent = calls.stream()
                    .filter(each -> FakeCollector.id(each).equals(FakeCollector.parentId(call)))
                    .findFirst()
                    .orElseThrow();
            assertThat(FakeCollector.traceId(call)).isEqualTo(FakeCollector.traceId(parent));
            Span other = calls.stream()
                    .filter(each -> links(each).equals(List.of(FakeCollector.id(call))))
                    .findFirst()
                    .orElseThrow();
            assertThat(links(parent)).isEmpty();
            assertThat(links(call)).containsExactly(FakeCollector.id(other));
            assertThat(FakeCollector.all(spans, SPAN_KIND_CLIENT))
                    .filteredOn(each -> FakeCollector.parentId(each).equals(FakeCollector.id(call)))
                    .singleElement()
                    .satisfies(attempt -> assertThat(header())
                            .contains("00-" + FakeCollector.traceId(call) + "-" + FakeCollector.id(attempt) + "-01"));
        }
    }

    private List<String> header() {
        return server.opened.stream()
                .map(each -> Objects.requireNonNullElse(each.headers().get(TRACEPARENT), ""))
                .toList();
    }

    @Test
    void joinedCall_thatNobodySamples_saysSoToTheServer() throws Exception {
        try (Stage stage = stage(pairs())) {
            GrpcClient first = send(stage, "first", 0, unsampled());
            HeldCall held = next();
            GrpcClient one = send(stage, "one", 1, unsampled());
            GrpcClient two = send(stage, "two", 2, unsampled());
            next().respond();
            held.respond();
            assertOk(first, one, two);
            assertThat(header()).hasSize(2).allSatisfy(each -> assertThat(each).matches("00-.*-00"));
        }
        assertThat(collector.spans()).isEmpty();
    }

    @Test
    void failureOfAJoinedCall_isThatOfItsSpan() throws Exception {
        try (Stage stage = stage(pairs())) {
            GrpcClient first = send(stage, "first", 0);
            HeldCall held = next();
            GrpcClient one = send(stage, "one", 1);
            GrpcClient two = send(stage, "two", 2);
            next().call().close(Status.RESOURCE_EXHAUSTED, new Metadata());
            held.respond();
            assertOk(first);
            assertThat(one.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
            assertThat(two.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
            List<Span> spans = collector.spans(6);
            assertThat(attributes(one(spans, SPAN_KIND_INTERNAL))).containsEntry("error.type", "RESOURCE_EXHAUSTED");
            assertThat(FakeCollector.all(spans, SPAN_KIND_SERVER))
                    .hasSize(3)
                    .allSatisfy(each -> assertThat(attributes(each)).containsEntry("isthmus.attempts", 1L));
        }
    }

    @Test
    void callsThatACacheAnswers_sayWhy_andAreLinkedToTheCallTheyWaitedFor() throws Exception {
        CacheConfig cache = TestConfigs.with(CacheConfig.DEFAULT, Map.of("ttl", Duration.ofMinutes(1)));
        try (Stage stage = stage(Map.of("cache", cache))) {
            GrpcClient sent = send(stage, "sent", 1);
            HeldCall held = next();
            GrpcClient waits = send(stage, "waits", 1);
            await().atMost(Duration.ofSeconds(30))
                    .until(() -> stage.proxy()
                                    .meters()
                                    .get("isthmus.cache.waiting")
                                    .gauge()
                                    .value()
                            == 1);
            held.respond();
            assertOk(sent, waits);
            assertOk(send(stage, "stored", 1));

            List<Span> spans = collector.spans(4);
            Span miss = cached(spans, "miss");
            assertThat(links(cached(spans, "collapsed"))).containsExactly(FakeCollector.id(miss));
            assertThat(links(cached(spans, "hit"))).isEmpty();
            assertThat(FakeCollector.parentId(one(spans, SPAN_KIND_CLIENT))).isEqualTo(FakeCollector.id(miss));
        }
    }

    private static Span cached(List<Span> spans, String result) {
        return spans.stream()
                .filter(each -> result.equals(attributes(each).get("isthmus.cache")))
                .findFirst()
                .orElseThrow();
    }
}
