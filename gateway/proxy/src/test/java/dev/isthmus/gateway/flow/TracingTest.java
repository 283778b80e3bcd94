package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.flow.FakeCollector.attributes;
import static dev.isthmus.gateway.flow.FakeCollector.one;
import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_CLIENT;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_INTERNAL;
import static io.opentelemetry.proto.trace.v1.Span.SpanKind.SPAN_KIND_SERVER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.settings.AccessLogConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.ShadowConfig;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Status.StatusCode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The spans of calls, and the trace context that servers get. */
class TracingTest {
    private static final String INFER = "/v2/models/m/infer";
    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String CALLER = "b7ad6b7169203331";
    private static final String SAMPLED = "00-" + TRACE + "-" + CALLER + "-01";
    private static final String UNSAMPLED = "00-" + TRACE + "-" + CALLER + "-00";
    private static final String CHILD = "00-[0-9a-f]{32}-[0-9a-f]{16}-0";

    private FakeCollector collector;
    private FakeGrpcServer grpc;
    private FakeRestServer rest;
    private final AtomicInteger failures = new AtomicInteger();

    @BeforeEach
    void start() throws Exception {
        collector = new FakeCollector();
        grpc = new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public boolean respondsAtOnce() {
                return false;
            }

            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                if (failures.getAndDecrement() > 0) {
                    call.close(Status.UNAVAILABLE, new Metadata());
                } else {
                    FakeGrpcServer.respond(
                            call, Infer.responseTo(Infer.request(message), 1).toByteArray());
                }
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {}
        });
        rest = FakeRestServer.that((request, out) -> {
            write(out, ok(Infer.responseJson("", "a", 1)));
            return true;
        });
    }

    @AfterEach
    void stop() throws Exception {
        rest.close();
        grpc.close();
        collector.close();
    }

    private TracingConfig tracing(Map<String, ?> changes) {
        Map<String, Object> all = new HashMap<>(Map.of("endpoint", collector.endpoint(), "sample", 1.0));
        all.putAll(changes);
        return TestConfigs.with(DefaultValues.of(TracingConfig.class), all);
    }

    private GatewayConfig config(@Nullable TracingConfig tracing, Map<String, ?> changes) {
        Map<String, Object> all = new HashMap<>();
        all.put("listeners", List.of(Stage.MANAGED));
        all.put(
                "upstreams",
                Map.of(
                        "grpc",
                        Stage.grpc(grpc, ServerDialect.GENERIC),
                        "rest",
                        Stage.rest(rest, ServerDialect.GENERIC)));
        all.put("models", Map.of("m", ModelConfig.of("grpc"), "r", ModelConfig.of("rest")));
        all.put("tracing", tracing);
        all.putAll(changes);
        return TestConfigs.with(GatewayConfig.DEFAULT, all);
    }

    private Stage stage(Map<String, ?> changes) throws Exception {
        return Stage.with(config(tracing(changes), Map.of()));
    }

    private static Http1Client.Response infer(Stage stage, String model, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post("/v2/models/" + model + "/infer", Infer.json("a", 1), headers)
                    .response();
            return response;
        }
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    private static GrpcClient inferOverGrpc(Stage stage, String model, Metadata metadata) {
        return GrpcClient.ask(
                stage.channel(),
                "ModelInfer",
                metadata,
                Infer.request(model, "a", 1).toByteArray());
    }

    /** The value of a header of the request that the REST server got; empty if it is missing. */
    private String restHeader(String head, String name) {
        return head.lines()
                .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst()
                .orElse("");
    }

    @Test
    void callOverRest_andItsAttempt_areSpans_ofTheCallersTrace() throws Exception {
        try (Stage stage = stage(Map.of("resource", Map.of("deployment.environment.name", "test")))) {
            infer(stage, "m", "Traceparent: " + SAMPLED, "Tracestate: a=1, b@c=2", "Baggage: k=v", "User-Agent: t");
            Metadata seen = FakeGrpcServer.next(grpc.opened).headers();
            List<Span> spans = collector.spans(2);
            Span call = one(spans, SPAN_KIND_SERVER);
            Span attempt = one(spans, SPAN_KIND_CLIENT);
            assertThat(FakeCollector.traceId(call)).isEqualTo(TRACE);
            assertThat(FakeCollector.parentId(call)).isEqualTo(CALLER);
            assertThat(call.getTraceState()).isEqualTo("a=1,b@c=2");
            assertThat(call.getName()).isEqualTo("POST /v2/models/{model}/infer");
            assertThat(call.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
            assertThat(attributes(call))
                    .containsEntry("http.request.method", "POST")
                    .containsEntry("http.route", "/v2/models/{model}/infer")
                    .containsEntry("http.response.status_code", 200L)
                    .containsEntry("url.path", INFER)
                    .containsEntry("url.scheme", "http")
                    .containsEntry("client.address", "127.0.0.1")
                    .containsEntry("user_agent.original", "t")
                    .containsEntry("isthmus.operation", "infer")
                    .containsEntry("isthmus.model", "m")
                    .containsEntry("isthmus.route", "m")
                    .containsEntry("isthmus.upstream", "grpc")
                    .containsEntry("isthmus.attempts", 1L)
                    .doesNotContainKeys("error.type", "isthmus.retries", "gen_ai.operation.name");
            assertThat(FakeCollector.parentId(attempt)).isEqualTo(FakeCollector.id(call));
            assertThat(FakeCollector.traceId(attempt)).isEqualTo(TRACE);
            assertThat(attempt.getName()).isEqualTo("inference.GRPCInferenceService/ModelInfer");
            assertThat(attributes(attempt))
                    .containsEntry("rpc.system.name", "grpc")
                    .containsEntry("rpc.method", "inference.GRPCInferenceService/ModelInfer")
                    .containsEntry("rpc.response.status_code", "OK")
                    .containsEntry("server.address", "127.0.0.1")
                    .containsEntry("server.port", (long) grpc.port())
                    .containsEntry("isthmus.attempt", 1L);
            assertThat(attempt.getStartTimeUnixNano()).isGreaterThanOrEqualTo(call.getStartTimeUnixNano());
            assertThat(attempt.getEndTimeUnixNano()).isGreaterThanOrEqualTo(attempt.getStartTimeUnixNano());
            assertThat(seen.get(key("traceparent"))).isEqualTo("00-" + TRACE + "-" + FakeCollector.id(attempt) + "-01");
            assertThat(seen.get(key("tracestate"))).isEqualTo("a=1, b@c=2");
            assertThat(seen.get(key("baggage"))).isEqualTo("k=v");
            assertThat(attributes(collector.received.getFirst().getResource().getAttributesList()))
                    .containsEntry("service.name", "isthmus")
                    .containsEntry("deployment.environment.name", "test")
                    .containsEntry("telemetry.sdk.name", "opentelemetry")
                    .containsKeys("service.version", "service.instance.id");
        }
    }

    @Test
    void callOverGrpc_toARestServer() throws Exception {
        try (Stage stage = stage(Map.of())) {
            Metadata metadata = new Metadata();
            metadata.put(key("traceparent"), SAMPLED);
            metadata.put(key("tracestate"), "a=1");
            metadata.put(key("baggage"), "k=v");
            assertThat(inferOverGrpc(stage, "r", metadata).status().isOk()).isTrue();
            String head = Stage.posted(rest).head();
            List<Span> spans = collector.spans(2);
            Span call = one(spans, SPAN_KIND_SERVER);
            Span attempt = one(spans, SPAN_KIND_CLIENT);
            assertThat(call.getName()).isEqualTo("inference.GRPCInferenceService/ModelInfer");
            assertThat(FakeCollector.traceId(call)).isEqualTo(TRACE);
            assertThat(attributes(call))
                    .containsEntry("rpc.system.name", "grpc")
                    .containsEntry("rpc.response.status_code", "OK")
                    .containsEntry("isthmus.model", "r")
                    .doesNotContainKey("http.request.method");
            assertThat(attempt.getName()).isEqualTo("POST /v2/models/{model}/infer");
            assertThat(attributes(attempt))
                    .containsEntry("http.request.method", "POST")
                    .containsEntry("url.template", "/v2/models/{model}/infer")
                    .containsEntry("http.response.status_code", 200L);
            assertThat(restHeader(head, "traceparent"))
                    .isEqualTo("00-" + TRACE + "-" + FakeCollector.id(attempt) + "-01");
            assertThat(restHeader(head, "tracestate")).isEqualTo("a=1");
            assertThat(restHeader(head, "baggage")).isEqualTo("k=v");
        }
    }

    /** HTTP's status is 200 whatever gRPC's is, and the path is that of a method. */
    @Test
    void callOverGrpcWeb_isOneOfGrpc() throws Exception {
        GatewayConfig config = config(
                tracing(Map.of()),
                Map.of("listeners", List.of(TestConfigs.with(Stage.MANAGED, Map.of("grpcWeb", true)))));
        try (Stage stage = Stage.with(config)) {
            GrpcWebClient client =
                    new GrpcWebClient(stage.port(), GrpcWebClient.HttpVersion.HTTP_1_1, GrpcWebForm.BINARY);
            assertThat(client.call("ModelInfer", Infer.request("m", "a", 1)).status())
                    .isZero();
            Span call = one(collector.spans(2), SPAN_KIND_SERVER);
            assertThat(call.getName()).isEqualTo("inference.GRPCInferenceService/ModelInfer");
            assertThat(attributes(call))
                    .containsEntry("rpc.system.name", "grpc")
                    .containsEntry("rpc.method", "inference.GRPCInferenceService/ModelInfer")
                    .containsEntry("rpc.response.status_code", "OK")
                    .doesNotContainKeys("http.route", "http.response.status_code");
            failures.set(100);
            assertThat(client.call("ModelInfer", Infer.request("m", "a", 1)).status())
                    .isEqualTo(Status.Code.UNAVAILABLE.value());
            await().until(() ->
                    FakeCollector.all(collector.spans(), SPAN_KIND_SERVER).size() == 2);
            Span failed = FakeCollector.all(collector.spans(), SPAN_KIND_SERVER).getLast();
            assertThat(failed.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
            assertThat(attributes(failed)).containsEntry("rpc.response.status_code", "UNAVAILABLE");
        }
    }

    @Test
    void localModel_hasASpanInTheCall() throws Exception {
        String values = "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]";
        String tensor = "{\"name\":\"%s\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":" + values + "}";
        GatewayConfig config = config(
                tracing(Map.of()),
                Map.of("local", LocalConfig.EMBEDDED, "models", Map.of("simple", ModelConfig.of("local"))));
        try (Stage stage = Stage.with(config);
                Http1Client client = stage.http1()) {
            String body = "{\"inputs\":[" + tensor.formatted("INPUT0") + "," + tensor.formatted("INPUT1") + "]}";
            assertThat(client.post("/v2/models/simple/infer", body).response().status())
                    .isEqualTo(200);
            List<Span> spans = collector.spans(2);
            Span call = one(spans, SPAN_KIND_SERVER);
            Span execution = one(spans, SPAN_KIND_INTERNAL);
            assertThat(execution.getName()).isEqualTo("infer");
            assertThat(FakeCollector.parentId(execution)).isEqualTo(FakeCollector.id(call));
            assertThat(execution.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
            assertThat(attributes(execution))
                    .containsEntry("isthmus.upstream", "local")
                    .containsEntry("isthmus.served_model", "simple")
                    .doesNotContainKeys("server.address", "http.request.method", "rpc.method", "error.type");
            String wrong = body.replace("INPUT1", "INPUT2");
            assertThat(client.post("/v2/models/simple/infer", wrong).response().status())
                    .isEqualTo(400);
            Span failed =
                    FakeCollector.all(collector.spans(4), SPAN_KIND_INTERNAL).getLast();
            assertThat(failed.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
            assertThat(attributes(failed)).containsEntry("error.type", "INVALID_ARGUMENT");
        }
    }

    @Test
    void retriedCall_hasASpanForEachAttempt() throws Exception {
        failures.set(1);
        try (Stage stage = stage(Map.of())) {
            assertThat(infer(stage, "m").status()).isEqualTo(200);
            List<Span> spans = collector.spans(3);
            Span call = one(spans, SPAN_KIND_SERVER);
            List<Span> attempts = FakeCollector.all(spans, SPAN_KIND_CLIENT);
            assertThat(attempts)
                    .hasSize(2)
                    .allSatisfy(each -> assertThat(FakeCollector.parentId(each)).isEqualTo(FakeCollector.id(call)));
            Span failed = attempts.getFirst();
            assertThat(failed.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
            assertThat(attributes(failed))
                    .containsEntry("rpc.response.status_code", "UNAVAILABLE")
                    .containsEntry("error.type", "UNAVAILABLE")
                    .containsEntry("isthmus.attempt", 1L);
            assertThat(attributes(attempts.getLast()))
                    .containsEntry("rpc.response.status_code", "OK")
                    .containsEntry("isthmus.attempt", 2L);
            assertThat(attributes(call))
                    .containsEntry("isthmus.attempts", 2L)
                    .containsEntry("isthmus.retries", List.of("UNAVAILABLE"));
            String first = FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent"));
            String second = FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent"));
            assertThat(first).contains(FakeCollector.id(failed)).isNotEqualTo(second);
            assertThat(second).contains(FakeCollector.id(attempts.getLast()));
        }
    }

    @Test
    void failedCall_isAnError_andARefusedOneIsNot() throws Exception {
        GatewayConfig config = config(
                tracing(Map.of()),
                Map.of(
                        "upstreams",
                        Map.of(
                                "gone",
                                TestConfigs.upstream(
                                        GatewayConfig.UpstreamProtocol.REST, TestConfigs.unusedEndpoint())),
                        "models",
                        Map.of("m", ModelConfig.of("gone"))));
        try (Stage stage = Stage.with(config);
                Http1Client client = stage.http1()) {
            assertThat(infer(stage, "m").status()).isEqualTo(503);
            client.send("GET /%22%0a/no?secret HTTP/1.1\r\nHost: a\r\n\r\n");
            assertThat(client.response().status()).isEqualTo(404);
            await().until(() ->
                    FakeCollector.all(collector.spans(), SPAN_KIND_SERVER).size() == 2);
            Span failed = named("POST /v2/models/{model}/infer");
            Span refused = named("GET");
            assertThat(failed.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
            assertThat(failed.getStatus().getMessage()).contains("gone");
            assertThat(attributes(failed))
                    .containsEntry("http.response.status_code", 503L)
                    .containsEntry("error.type", "UNAVAILABLE")
                    .containsEntry("isthmus.cause", "connect");
            assertThat(refused.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
            assertThat(attributes(refused))
                    .containsEntry("http.response.status_code", 404L)
                    .containsEntry("url.path", "/%22%0a/no")
                    .containsEntry("isthmus.cause", "not_found")
                    .doesNotContainKeys("http.route", "error.type");
        }
    }

    private Span named(String name) {
        return FakeCollector.all(collector.spans(), SPAN_KIND_SERVER).stream()
                .filter(span -> span.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void unknownMethodsOfClients_areNoNames() throws Exception {
        try (Stage stage = stage(Map.of());
                Http1Client client = stage.http1()) {
            client.send("MAKEUP /v2 HTTP/1.1\r\nHost: a\r\n\r\n");
            assertThat(client.response().status()).isGreaterThanOrEqualTo(400);
            Span rest = collector.spans(1).getFirst();
            assertThat(rest.getName()).startsWith("HTTP");
            assertThat(attributes(rest))
                    .containsEntry("http.request.method", "_OTHER")
                    .containsEntry("http.request.method_original", "MAKEUP");
            GrpcClient unknown = GrpcClient.ask(stage.channel(), "MadeUp", new Metadata(), new byte[0]);
            assertThat(unknown.status().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
            Span grpcSpan = collector.spans(2).getLast();
            assertThat(grpcSpan.getName()).isEqualTo("_OTHER");
            assertThat(attributes(grpcSpan))
                    .containsEntry("rpc.method", "_OTHER")
                    .containsEntry("rpc.response.status_code", "UNIMPLEMENTED");
        }
    }

    @Test
    void copyForAShadow_isASpan_withItsOwnAttempt() throws Exception {
        ShadowConfig shadow = TestConfigs.with(
                DefaultValues.of(ShadowConfig.class),
                Map.of("name", "next", "upstream", "rest", "timeout", Duration.ofSeconds(30)));
        ModelConfig model = TestConfigs.with(ModelConfig.of("grpc"), Map.of("shadow", List.of(shadow)));
        try (Stage stage = Stage.with(config(tracing(Map.of()), Map.of("models", Map.of("m", model))))) {
            infer(stage, "m");
            List<Span> spans = collector.spans(4);
            Span call = one(spans, SPAN_KIND_SERVER);
            Span copy = one(spans, SPAN_KIND_INTERNAL);
            assertThat(copy.getName()).isEqualTo("shadow next");
            assertThat(FakeCollector.parentId(copy)).isEqualTo(FakeCollector.id(call));
            assertThat(attributes(copy)).containsEntry("isthmus.shadow", "next").doesNotContainKey("error.type");
            Span attempt = FakeCollector.all(spans, SPAN_KIND_CLIENT).stream()
                    .filter(each -> FakeCollector.parentId(each).equals(FakeCollector.id(copy)))
                    .findFirst()
                    .orElseThrow();
            assertThat(attributes(attempt)).containsEntry("isthmus.upstream", "rest");
            assertThat(restHeader(Stage.posted(rest).head(), "traceparent")).contains(FakeCollector.id(attempt));
            assertThat(spans)
                    .allSatisfy(each -> assertThat(FakeCollector.traceId(each)).isEqualTo(FakeCollector.traceId(call)));
        }
    }

    @Test
    void stream_isOneAttempt() throws Exception {
        try (Stage stage = stage(Map.of())) {
            GrpcClient client = GrpcClient.ask(
                    stage.channel(),
                    "ModelStreamInfer",
                    new Metadata(),
                    Infer.request("m", "a", 1).toByteArray());
            client.response();
            assertThat(client.status().isOk()).isTrue();
            List<Span> spans = collector.spans(2);
            Span attempt = one(spans, SPAN_KIND_CLIENT);
            assertThat(one(spans, SPAN_KIND_SERVER).getName())
                    .isEqualTo("inference.GRPCInferenceService/ModelStreamInfer");
            assertThat(attempt.getName()).isEqualTo("inference.GRPCInferenceService/ModelStreamInfer");
            assertThat(FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent")))
                    .contains(FakeCollector.id(attempt));
        }
    }

    @Test
    void callThatItsClientCancels_endsItsSpans() throws Exception {
        FakeGrpcServer silent = FakeGrpcServer.silent();
        GatewayConfig config = config(
                tracing(Map.of()),
                Map.of(
                        "upstreams",
                        Map.of("grpc", Stage.grpc(silent, ServerDialect.GENERIC)),
                        "models",
                        Map.of("m", ModelConfig.of("grpc"))));
        try (silent;
                Stage stage = Stage.with(config)) {
            GrpcClient client = inferOverGrpc(stage, "m", new Metadata());
            await().until(() ->
                    silent.opened.stream().anyMatch(call -> call.method().equals("ModelInfer")));
            client.cancel();
            List<Span> spans = collector.spans(2);
            assertThat(attributes(one(spans, SPAN_KIND_CLIENT))).containsEntry("error.type", "CANCELLED");
            assertThat(one(spans, SPAN_KIND_SERVER).getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
            assertThat(attributes(one(spans, SPAN_KIND_SERVER))).containsEntry("rpc.response.status_code", "CANCELLED");
        }
    }

    /** Also of calls that are not sampled. */
    @Test
    void accessLog_hasTheIdOfTheTrace(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("access.log");
        AccessLogConfig log = TestConfigs.with(DefaultValues.of(AccessLogConfig.class), Map.of("file", file));
        try (Stage stage = Stage.with(config(tracing(Map.of("sample", 0.0)), Map.of("accessLog", log)))) {
            infer(stage, "m");
            String traceparent =
                    String.valueOf(FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent")));
            await().until(() -> Files.exists(file)
                    && Files.readString(file).contains("\"trace_id\":\"" + traceparent.substring(3, 35) + "\""));
        }
    }

    /** The decision, what the client sends, and the flag that the server gets. */
    @ParameterizedTest
    @CsvSource({
        "RESPECTED, 0.0, " + SAMPLED + ", 1",
        "RESPECTED, 1.0, " + UNSAMPLED + ", 0",
        "RESPECTED, 0.0, , 0",
        "RESPECTED, 1.0, , 1",
        "IGNORED, 0.0, " + SAMPLED + ", 0",
        "IGNORED, 1.0, " + UNSAMPLED + ", 1",
    })
    void callerOrShare_decides(ParentDecision parent, double share, @Nullable String sent, String flag)
            throws Exception {
        try (Stage stage = stage(Map.of("sample", share, "parent", parent))) {
            infer(stage, "m", sent == null ? "X: y" : "Traceparent: " + sent);
            String traceparent = FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent"));
            assertThat(traceparent).matches(CHILD + flag).doesNotContain(CALLER);
            if (sent != null) {
                assertThat(traceparent).contains(TRACE);
            }
        }
        // The gateway has closed, and has sent what it had.
        assertThat(collector.spans()).hasSize(flag.equals("1") ? 2 : 0);
    }

    @ParameterizedTest
    @CsvSource({
        "00-" + TRACE + "-" + CALLER + "-01-extra",
        "00-" + TRACE + "-0000000000000000-01",
        "garbage",
        "ff-" + TRACE + "-" + CALLER + "-01",
    })
    void malformedContext_beginsANewTrace_andGoesNoFurther(String sent) throws Exception {
        try (Stage stage = stage(Map.of())) {
            infer(stage, "m", "Traceparent: " + sent, "Tracestate: a=1");
            Metadata seen = FakeGrpcServer.next(grpc.opened).headers();
            assertThat(seen.get(key("traceparent"))).matches(CHILD + "1").doesNotContain(TRACE);
            assertThat(seen.get(key("tracestate"))).isNull();
            Span call = one(collector.spans(2), SPAN_KIND_SERVER);
            assertThat(FakeCollector.parentId(call)).isEmpty();
        }
    }

    @Test
    void twoContexts_orABadState_areNotForwarded() throws Exception {
        try (Stage stage = stage(Map.of())) {
            infer(stage, "m", "Traceparent: " + SAMPLED, "Traceparent: " + UNSAMPLED, "Tracestate: a=1");
            Metadata twice = FakeGrpcServer.next(grpc.opened).headers();
            assertThat(twice.get(key("traceparent"))).matches(CHILD + "1").doesNotContain(TRACE);
            infer(stage, "m", "Traceparent: " + SAMPLED, "Tracestate: a=1", "Tracestate: b=\"=\"");
            Metadata bad = FakeGrpcServer.next(grpc.opened).headers();
            assertThat(bad.get(key("traceparent"))).contains(TRACE);
            assertThat(bad.get(key("tracestate"))).isNull();
        }
    }

    @Test
    void headersThatAreNotForwarded_staySo() throws Exception {
        GatewayConfig.Headers none = TestConfigs.with(
                GatewayConfig.Headers.DEFAULT, Map.of("forwarded", HeaderAllowList.of(List.of("x-request-id"))));
        try (Stage stage = Stage.with(config(tracing(Map.of()), Map.of("headers", none)))) {
            infer(stage, "m", "Traceparent: " + SAMPLED, "Tracestate: a=1");
            assertThat(FakeGrpcServer.next(grpc.opened).headers().keys()).doesNotContain("traceparent", "tracestate");
            assertThat(collector.spans(2)).hasSize(2);
        }
    }

    @Test
    void withoutTracing_headersPassAsTheyAre() throws Exception {
        try (Stage stage = Stage.with(config(null, Map.of()))) {
            infer(stage, "m", "Traceparent: anything", "Tracestate: a=1");
            Metadata seen = FakeGrpcServer.next(grpc.opened).headers();
            assertThat(seen.get(key("traceparent"))).isEqualTo("anything");
            assertThat(seen.get(key("tracestate"))).isEqualTo("a=1");
            infer(stage, "m");
            assertThat(FakeGrpcServer.next(grpc.opened).headers().keys()).doesNotContain("traceparent");
        }
    }

    @Test
    void reload_turnsTracesOnAndOff() throws Exception {
        try (Stage stage = Stage.with(config(null, Map.of()))) {
            infer(stage, "m");
            stage.proxy().reload(config(tracing(Map.of("serviceName", "second")), Map.of()));
            infer(stage, "m");
            assertThat(collector.spans(2)).hasSize(2);
            assertThat(attributes(collector.received.getFirst().getResource().getAttributesList()))
                    .containsEntry("service.name", "second");
            stage.proxy().reload(config(null, Map.of()));
            infer(stage, "m", "Traceparent: " + SAMPLED);
            FakeGrpcServer.next(grpc.opened);
            FakeGrpcServer.next(grpc.opened);
            assertThat(FakeGrpcServer.next(grpc.opened).headers().get(key("traceparent")))
                    .isEqualTo(SAMPLED);
        }
        assertThat(collector.spans()).hasSize(2);
    }

    @Test
    void collectorThatRefuses_costsSpans_notCalls() throws Exception {
        collector.status = 400;
        try (Stage stage = stage(Map.of())) {
            assertThat(infer(stage, "m").status()).isEqualTo(200);
            await().until(() -> dropped(stage, "collector") == 2);
            collector.status = 200;
            infer(stage, "m");
            await().until(() ->
                    stage.proxy().meters().get("isthmus.trace.spans").counter().count() == 2);
        }
    }

    @Test
    void collectorThatIsBusy_isCalledAgain() throws Exception {
        collector.refusals.set(1);
        try (Stage stage = stage(Map.of("timeout", Duration.ofMinutes(1)))) {
            infer(stage, "m");
            assertThat(collector.spans(2)).hasSize(2);
            assertThat(collector.requests.size()).isGreaterThan(1);
            assertThat(dropped(stage, "collector")).isZero();
        }
    }

    @Test
    void collectorThatIsGone_costsSpans_notCalls() throws Exception {
        Endpoint gone = TestConfigs.unusedEndpoint();
        Map<String, Object> changes =
                Map.of("endpoint", "http://127.0.0.1:" + gone.port() + "/v1/traces", "timeout", Duration.ofMillis(100));
        try (Stage stage = stage(changes)) {
            assertThat(infer(stage, "m").status()).isEqualTo(200);
            await().atMost(Duration.ofSeconds(30)).until(() -> dropped(stage, "collector") == 2);
        }
    }

    private static double dropped(Stage stage, String reason) {
        return stage.proxy()
                .meters()
                .get("isthmus.trace.dropped.spans")
                .tag("reason", reason)
                .counter()
                .count();
    }

    @Test
    void headersForTheCollector_comeFromFiles(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "secret\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        try (Stage stage = stage(Map.of("headerFiles", Map.of("x-api-key", file)))) {
            infer(stage, "m");
            collector.spans(2);
            assertThat(collector.requests.getFirst().getFirst("X-api-key")).isEqualTo("secret");
            assertThat(collector.requests.getFirst().getFirst("Content-type")).isEqualTo("application/x-protobuf");
        }
    }

    @Test
    void collectorOverTls_isVerified_andIssuersAreReadAgain(@TempDir Path folder) throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued issued = authority.issue("collector", "localhost");
        Path trusted = folder.resolve("trusted.pem");
        Files.copy(new TestAuthority(folder, "other").ca(), trusted);
        try (FakeCollector secure = FakeCollector.over(issued);
                Stage stage = stage(Map.of("endpoint", secure.endpoint(), "ca", trusted))) {
            infer(stage, "m");
            await().atMost(Duration.ofSeconds(30)).until(() -> dropped(stage, "collector") == 2);
            assertThat(secure.spans()).isEmpty();
            Files.copy(authority.ca(), trusted, StandardCopyOption.REPLACE_EXISTING);
            await().atMost(Duration.ofSeconds(60)).until(() -> {
                infer(stage, "m");
                return !secure.spans().isEmpty();
            });
        }
    }

    @Test
    void generatedText_hasTheAttributesOfGenerativeModels() throws Exception {
        UpstreamConfig triton = Stage.rest(rest, ServerDialect.TRITON);
        GatewayConfig config = config(
                tracing(Map.of()),
                Map.of("upstreams", Map.of("rest", triton), "models", Map.of("r", ModelConfig.of("rest"))));
        try (Stage stage = Stage.with(config);
                Http1Client client = stage.http1()) {
            client.post("/v2/models/r/versions/3/generate", "{\"text_input\":\"a\"}")
                    .response();
            List<Span> spans = collector.spans(2);
            assertThat(one(spans, SPAN_KIND_SERVER).getName())
                    .isEqualTo("POST /v2/models/{model}/versions/{version}/generate");
            assertThat(spans)
                    .allSatisfy(span -> assertThat(attributes(span))
                            .containsEntry("gen_ai.operation.name", "text_completion")
                            .containsEntry("gen_ai.request.model", "r"));
        }
    }
}
