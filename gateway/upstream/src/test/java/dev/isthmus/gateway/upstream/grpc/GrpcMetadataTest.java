package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.proto.metadata.RawModelMetadata;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrpcMetadataTest {
    private static final ModelRef MODEL = new ModelRef("simple", "2");

    /** Sends a request to a server; the loop, the connection and their buffers are closed when this returns. */
    private static RecordedReply ask(
            FakeGrpcServer server, BiFunction<GrpcUpstream, UpstreamBench, Function<RecordedReply, Subscription>> how)
            throws Exception {
        Endpoint endpoint = server.endpoint();
        var settings =
                UpstreamSettings.of("mlserver", endpoint, Duration.ofSeconds(60), Duration.ofSeconds(2), 1 << 20);
        try (var bench = new UpstreamBench()) {
            try (var upstream = new GrpcUpstream(settings, ServerCapabilities.unknown(), bench.allocator())) {
                RecordedReply reply = bench.send(how.apply(upstream, bench));
                try {
                    reply.response();
                } catch (ExecutionException e) {
                    assertThat(reply.ended()).isTrue();
                }
                return reply;
            }
        }
    }

    private static FakeGrpcServer responding(MessageLite message) throws Exception {
        return FakeGrpcServer.responding(message.toByteArray());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void serverReady_isWhatTheServerSays(boolean ready) throws Exception {
        try (var server =
                responding(ServerReadyResponse.newBuilder().setReady(ready).build())) {
            var reply = ask(
                    server,
                    (upstream, bench) -> r -> upstream.send(bench.call(), new UpstreamRequest.ServerReadyRequest(), r));
            assertThat(reply.response()).isEqualTo(new ReplyMessage.Ready(ready));
        }
    }

    @Test
    void serverReady_ofServerThatFails_fails() throws Exception {
        try (var server = FakeGrpcServer.failing(Status.UNAVAILABLE.withDescription("loading"))) {
            var reply = ask(
                    server,
                    (upstream, bench) -> r -> upstream.send(bench.call(), new UpstreamRequest.ServerReadyRequest(), r));
            assertThat(reply.failure()).hasMessage("loading");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {".14", "0.", "0.14.1", "rc"})
    void serverMetadata_withAnyVersion_areWhatTheServerSays(String version) throws Exception {
        try (var server = responding(ServerMetadataResponse.newBuilder()
                .setName("kserve")
                .setVersion(version)
                .build())) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ServerMetadataRequest(), r));
            assertThat(reply.response())
                    .isEqualTo(new ReplyMessage.Server(new ServerMetadata("kserve", version, List.of())));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void modelReady_isWhatTheServerSays(boolean ready) throws Exception {
        try (var server =
                responding(ModelReadyResponse.newBuilder().setReady(ready).build())) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelReadyRequest(MODEL), r));
            assertThat(reply.response()).isEqualTo(new ReplyMessage.ModelReadyState(MODEL, ready));
            assertThat(ModelReadyRequest.parseFrom(server.request()))
                    .isEqualTo(ModelReadyRequest.newBuilder()
                            .setName("simple")
                            .setVersion("2")
                            .build());
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"NOT_FOUND", "UNKNOWN", "INVALID_ARGUMENT"})
    void modelReady_ofUnknownModel_isNotReady(Status.Code code) throws Exception {
        try (var server = FakeGrpcServer.failing(code.toStatus())) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelReadyRequest(MODEL), r));
            assertThat(reply.response()).isEqualTo(new ReplyMessage.ModelReadyState(MODEL, false));
        }
    }

    @Test
    void modelReady_ofServerThatIsUnavailable_fails() throws Exception {
        try (var server = FakeGrpcServer.failing(Status.UNAVAILABLE)) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelReadyRequest(MODEL), r));
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }

    @Test
    void serverMetadata_isRead() throws Exception {
        var message = ServerMetadataResponse.newBuilder()
                .setName("triton")
                .setVersion("2.51.0")
                .addExtensions("classification")
                .addExtensions("binary_tensor_data")
                .build();
        try (var server = responding(message)) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ServerMetadataRequest(), r));
            assertThat(reply.response())
                    .isEqualTo(new ReplyMessage.Server(
                            new ServerMetadata("triton", "2.51.0", List.of("classification", "binary_tensor_data"))));
        }
    }

    @Test
    void modelMetadata_isReadWithParameters() throws Exception {
        var input = ModelMetadataResponse.TensorMetadata.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(-1)
                .addShape(4)
                .putParameters("content_type", text("np"))
                .build();
        var message = ModelMetadataResponse.newBuilder()
                .setName("iris")
                .addVersions("v1")
                .setPlatform("sklearn")
                .addInputs(input)
                .addOutputs(ModelMetadataResponse.TensorMetadata.newBuilder()
                        .setName("y")
                        .setDatatype("INT64"))
                .putParameters(
                        "b", InferParameter.newBuilder().setBoolParam(true).build())
                .putParameters(
                        "i", InferParameter.newBuilder().setInt64Param(-7).build())
                .putParameters(
                        "d", InferParameter.newBuilder().setDoubleParam(0.5).build())
                .putParameters(
                        "u", InferParameter.newBuilder().setUint64Param(-1).build())
                .putParameters(
                        "small", InferParameter.newBuilder().setUint64Param(1).build())
                .putParameters("none", InferParameter.getDefaultInstance())
                .build();
        try (var server = responding(message)) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r));
            assertThat(reply.response()).isEqualTo(new ReplyMessage.Model(iris()));
            assertThat(ModelMetadataRequest.parseFrom(server.request()).getVersion())
                    .isEqualTo("2");
        }
    }

    private static InferParameter text(String value) {
        return InferParameter.newBuilder().setStringParam(value).build();
    }

    private static ModelMetadata iris() {
        return new ModelMetadata(
                "iris",
                List.of("v1"),
                "sklearn",
                List.of(new ModelMetadata.TensorMetadata(
                        "x", "FP32", Shape.of(-1, 4), Map.of("content_type", new Parameter.Text("np")))),
                List.of(new ModelMetadata.TensorMetadata("y", "INT64", Shape.SCALAR, Map.of())),
                Map.of(
                        "b", new Parameter.Bool(true),
                        "i", new Parameter.Int64(-7),
                        "d", new Parameter.Float64(0.5),
                        "u", new Parameter.Uint64(-1),
                        "small", new Parameter.Int64(1)));
    }

    /** Recorded from MLServer 1.7.1: a model whose settings have a content type. */
    @Test
    void parametersOfMlserver_areRead() throws Exception {
        String recorded = "CglkZXNjcmliZWQyFAoMY29udGVudF90eXBlEgQaAm5w";
        try (var server = FakeGrpcServer.responding(Base64.getDecoder().decode(recorded))) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r));
            assertThat(reply.response())
                    .isEqualTo(new ReplyMessage.Model(new ModelMetadata(
                            "described",
                            List.of(),
                            "",
                            List.of(),
                            List.of(),
                            Map.of("content_type", new Parameter.Text("np")))));
        }
    }

    /** Metadata with this map in field 6, whose values are bytes. */
    private static ModelMetadata extended(Map<String, String> latin1) throws Exception {
        RawModelMetadata.Builder message = RawModelMetadata.newBuilder().setName("iris");
        latin1.forEach(
                (name, value) -> message.putExtension(name, ByteString.copyFrom(value, StandardCharsets.ISO_8859_1)));
        try (var server = responding(message.build())) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r));
            return ((ReplyMessage.Model) reply.response()).metadata();
        }
    }

    @Test
    void propertiesOfTheDocument_areTexts() throws Exception {
        Map<String, String> properties = Map.of("framework", "sklearn", "empty", "", "umlaut", "\u00c3\u00bc");
        ModelMetadata metadata = extended(properties);
        assertThat(metadata.properties())
                .containsExactlyInAnyOrderEntriesOf(Map.of("framework", "sklearn", "empty", "", "umlaut", "\u00fc"));
        assertThat(metadata.parameters()).isEmpty();
    }

    /** Bytes are parameters only if all of them are. */
    @Test
    void textThatIsAParameterToo_isReadLikeTheOthers() throws Exception {
        String parameter = "\u001a\u0003abc";
        assertThat(extended(Map.of("a", parameter)).parameters()).isEqualTo(Map.of("a", new Parameter.Text("abc")));
        assertThat(extended(Map.of("a", parameter, "b", "text")).properties())
                .isEqualTo(Map.of("a", parameter, "b", "text"));
        // An unknown field: 7, a varint.
        assertThat(extended(Map.of("a", "8\u0001")).properties()).isEqualTo(Map.of("a", "8\u0001"));
        assertThat(extended(Map.of("a", "")).properties()).isEqualTo(Map.of("a", ""));
        assertThat(extended(Map.of("a", "\u00ff", "b", "text")).properties()).isEqualTo(Map.of("b", "text"));
    }

    @Test
    void modelMetadata_ofUnknownModel_isNotFound() throws Exception {
        try (var server = FakeGrpcServer.failing(Status.NOT_FOUND.withDescription("Model nope not found"))) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r));
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.NOT_FOUND);
            assertThat(reply.failure()).hasMessage("Model nope not found");
        }
    }

    @Test
    void message_thatIsNotProtobuf_isABadResponse() throws Exception {
        try (var server = FakeGrpcServer.responding(new byte[] {(byte) 0xff, (byte) 0xff, (byte) 0xff})) {
            var reply = ask(
                    server,
                    (upstream, bench) ->
                            r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r));
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        }
    }
}
