package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrpcUpstreamTest {
    private static final ModelRef MODEL = ModelRef.of("simple");

    private final UpstreamBench bench = new UpstreamBench();
    private final List<GrpcUpstream> upstreams = new ArrayList<>();
    private final List<ByteBuf> bodies = new ArrayList<>();

    @AfterEach
    void nothingIsHeld() {
        upstreams.forEach(GrpcUpstream::close);
        try (bench) {
            bench.awaitNothingHeld();
        }
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
    }

    private GrpcUpstream upstream(Endpoint endpoint) {
        return upstream(
                UpstreamSettings.of("triton", endpoint, Duration.ofSeconds(60), Duration.ofSeconds(2), 32 << 20));
    }

    private GrpcUpstream upstream(UpstreamSettings settings) {
        GrpcUpstream upstream = new GrpcUpstream(settings, ServerCapabilities.unknown(), bench.allocator());
        upstreams.add(upstream);
        return upstream;
    }

    private RecordedReply infer(GrpcUpstream upstream, ByteBuf body) {
        return infer(upstream, bench.call(), body);
    }

    private RecordedReply infer(GrpcUpstream upstream, Call call, ByteBuf body) {
        bodies.add(body);
        return bench.send(reply -> upstream.send(
                call, new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body)), reply));
    }

    private static byte[] random(int size, long seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private ByteBuf direct(byte[] bytes) {
        return bench.allocator().directBuffer(Math.max(bytes.length, 1)).writeBytes(bytes);
    }

    @Test
    void upstream_says_whatItIs() {
        GrpcUpstream upstream = upstream(new Endpoint("127.0.0.1", 1));
        assertThat(upstream.name()).isEqualTo("triton");
        assertThat(upstream.peer().wire()).isEqualTo(Wire.PROTOBUF);
    }

    @Test
    void responseThatCannotBeRead_failsTheCall() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            UpstreamSettings settings = UpstreamSettings.of(
                    "triton", server.endpoint(), Duration.ofSeconds(60), Duration.ofSeconds(2), 1000);
            GrpcConnectionPool pool = upstream(settings).createPool(bench.loop());
            var head = new CallMetadata.GrpcMethods(settings, Map.of()).modelInfer.plain();
            RecordedReply reply = bench.send(received -> {
                UnaryCall call = new UnaryCall(
                                pool,
                                CallMetadata.of(head, bench.call()),
                                new CallTimeout(Long.MAX_VALUE, false),
                                message -> {
                                    throw new IllegalStateException("a fault of the reader");
                                },
                                1000,
                                MemoryBudget.MemoryReservation.UNCOUNTED,
                                received)
                        .sending(direct(new byte[] {1}));
                call.start();
                return call;
            });
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            bench.loop().submit(pool::closeAll).get();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 16, 16_384, 602_112, 16 << 20})
    void infer_ofAnySize_passesTheBytesBothWays(int size) throws Exception {
        byte[] bytes = random(size, size);
        try (var server = FakeGrpcServer.echo()) {
            GrpcUpstream upstream = upstream(server.endpoint());
            assertThat(infer(upstream, direct(bytes)).protobuf()).isEqualTo(bytes);
            assertThat(server.request()).isEqualTo(bytes);
            ByteBuf heap = bench.allocator().heapBuffer(Math.max(size, 1)).writeBytes(bytes);
            assertThat(infer(upstream, heap).protobuf()).isEqualTo(bytes);
        }
    }

    @Test
    void infer_withCompositeThatDoesNotStartAtItsFirstByte_passesTheReadableBytes() throws Exception {
        byte[] bytes = random(200_000, 3);
        ByteBuf body = bench.allocator()
                .compositeBuffer()
                .addComponents(true, Unpooled.copyInt(7), direct(bytes), Unpooled.wrappedBuffer(new byte[] {1, 2}))
                .skipBytes(4);
        body.writerIndex(body.writerIndex() - 2);
        try (var server = FakeGrpcServer.echo()) {
            assertThat(infer(upstream(server.endpoint()), body).protobuf()).isEqualTo(bytes);
        }
    }

    @Test
    void responses_heldAtTheSameTime_keepTheirBytes() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            GrpcUpstream upstream = upstream(server.endpoint());
            List<byte[]> sent = new ArrayList<>();
            List<RecordedReply> replies = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                sent.add(random(602_112, 100 + i));
                replies.add(infer(upstream, direct(sent.get(i))));
            }
            for (RecordedReply reply : replies) {
                reply.response();
            }
            for (int i = 0; i < 8; i++) {
                assertThat(replies.get(i).protobuf()).isEqualTo(sent.get(i));
            }
        }
    }

    @Test
    void response_slicedAndReleased_livesAsLongAsItsSlice() throws Exception {
        byte[] bytes = random(602_112, 5);
        try (var server = FakeGrpcServer.responding(bytes)) {
            GrpcUpstream upstream = upstream(server.endpoint());
            ByteBuf message = ((InferMessage.ProtobufMessage)
                            infer(upstream, direct(new byte[1])).inference())
                    .message();
            assertThat(message).as("not copied").isInstanceOf(CompositeByteBuf.class);
            ByteBuf slice = message.retainedSlice(message.readerIndex() + 300_000, 16);
            message.release();
            upstream.close();
            assertThat(slice).isEqualTo(Unpooled.wrappedBuffer(bytes, 300_000, 16));
            slice.release();
        }
    }

    @Test
    void response_flattenedIntoAnother_keepsItsMemory() throws Exception {
        byte[] bytes = random(100_000, 6);
        try (var server = FakeGrpcServer.responding(bytes)) {
            ByteBuf message = ((InferMessage.ProtobufMessage) infer(upstream(server.endpoint()), direct(new byte[1]))
                            .inference())
                    .message();
            CompositeByteBuf other = ByteBufAllocator.DEFAULT.compositeBuffer().addFlattenedComponents(true, message);
            assertThat((ByteBuf) other).isEqualTo(Unpooled.wrappedBuffer(bytes));
            other.release();
        }
    }

    @Test
    void response_compressed_isInflated() throws Exception {
        byte[] bytes = new byte[300_000];
        try (var server = FakeGrpcServer.unary((request, call) -> {
            call.setCompression("gzip");
            call.setMessageCompression(true);
            FakeGrpcServer.respond(call, bytes);
        })) {
            assertThat(infer(upstream(server.endpoint()), direct(new byte[1])).protobuf())
                    .isEqualTo(bytes);
        }
    }

    @Test
    void headers_ofTheCall_areSentButForReservedNames() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            Map<String, String> headers =
                    Map.of("x-request-id", "7", "trace-bin", "AQI=", "grpc-timeout", "1n", "grpc-encoding", "gzip");
            infer(upstream(server.endpoint()), bench.call(headers), direct(new byte[1]))
                    .protobuf();
            Metadata seen = server.headers();
            assertThat(seen.get(Metadata.Key.of("x-request-id", Metadata.ASCII_STRING_MARSHALLER)))
                    .isEqualTo("7");
            assertThat(seen.get(Metadata.Key.of("trace-bin", Metadata.BINARY_BYTE_MARSHALLER)))
                    .containsExactly(1, 2);
            assertThat(seen.keys()).doesNotContain("grpc-encoding");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "trace-bin, ?, header 'trace-bin': base64 is expected in gRPC metadata",
        "x!y, 1, 'header ''x!y'': a name of a-z, 0-9, ''-'', ''_'' and ''.'' is expected in gRPC metadata'",
    })
    void header_thatGrpcDoesNotHave_isRefusedByItsName(String name, String value, String text) throws Exception {
        GrpcUpstream upstream = upstream(new Endpoint("127.0.0.1", 1));
        OipException failure = infer(upstream, bench.call(Map.of(name, value)), direct(new byte[1]))
                .failure();
        assertThat(failure).hasMessage(text);
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }

    @Test
    void ownHeaders_areInPlaceOfTheClients_howeverTheyAreSpelled() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            GrpcUpstream upstream = upstream(server.endpoint());
            upstream.ownHeaders(Map.of("authorization", new SecretText("Bearer own"), "x-key", new SecretText("k 1")));
            Call call = bench.call(
                    Map.of("authorization", "Bearer client", "x_key", "no", "x-key-bin", "AQI=", "x-keys", "yes"));

            infer(upstream, call, direct(new byte[1])).protobuf();

            Metadata seen = server.headers();
            assertThat(seen.getAll(key("authorization"))).containsExactly("Bearer own");
            assertThat(seen.getAll(key("x-key"))).containsExactly("k 1");
            assertThat(seen.get(key("x-keys"))).isEqualTo("yes");
            assertThat(seen.keys()).doesNotContain("x_key", "x-key-bin");
        }
    }

    @Test
    void host_isTheAuthority() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            GrpcUpstream upstream = upstream(TestConfigs.with(
                    UpstreamSettings.of(
                            "triton", server.endpoint(), Duration.ofSeconds(60), Duration.ofSeconds(2), 32 << 20),
                    Map.of("authority", "models.example:8443")));
            infer(upstream, direct(new byte[1])).protobuf();
            assertThat(FakeGrpcServer.next(server.opened).authority()).isEqualTo("models.example:8443");
        }
    }

    @Test
    void ownHeaders_areSentWithEachKindOfRequest_andChangeOnAnOpenConnection() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            GrpcUpstream upstream = upstream(server.endpoint());
            Map<String, String> first = Map.of("isthmus-hops", "1");
            List<Function<RecordedReply, Subscription>> calls = List.of(
                    r -> upstream.send(bench.call(), new UpstreamRequest.ServerReadyRequest(), r),
                    r -> upstream.send(bench.call(first), new UpstreamRequest.ServerMetadataRequest(), r),
                    r -> upstream.send(bench.callWithin(GrpcUpstreamCalls.LONG), modelReady(), r),
                    r -> upstream.send(bench.call(), new UpstreamRequest.ModelMetadataRequest(MODEL), r),
                    r -> upstream.send(
                            bench.call(),
                            new UpstreamRequest.ManageRequest(
                                    new Operation.Manage(Extension.MODEL_STATISTICS, MODEL, "", false, false, false),
                                    Unpooled.EMPTY_BUFFER),
                            r),
                    r -> upstream.inferStream(bench.call(first), MODEL, r));
            for (int i = 0; i < calls.size(); i++) {
                upstream.ownHeaders(Map.of("x-key", new SecretText("key-" + i)));
                RecordedReply reply = bench.send(calls.get(i));
                assertThat(server.headers().getAll(key("x-key"))).containsExactly("key-" + i);
                reply.discard();
            }
            assertThat(upstream.connections().opened()).isOne();
        }
    }

    private static UpstreamRequest modelReady() {
        return new UpstreamRequest.ModelReadyRequest(MODEL);
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    @Test
    void header_thatIsNoMetadata_isRefused() throws Exception {
        try (var server = FakeGrpcServer.echo()) {
            Call call = bench.call(Map.of("bad name", "7"));
            var failure = infer(upstream(server.endpoint()), call, direct(new byte[1]))
                    .failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        }
    }

    @Test
    void endpoint_thatComesBack_isUsedAgain() throws Exception {
        Endpoint endpoint = TestConfigs.unusedEndpoint();
        GrpcUpstream upstream = upstream(endpoint);
        BiConsumer<byte[], ServerCall<byte[], byte[]>> echo = (request, call) -> FakeGrpcServer.respond(call, request);
        try (var _ = FakeGrpcServer.unary(endpoint.port(), echo)) {
            assertThat(infer(upstream, direct(new byte[1])).protobuf()).hasSize(1);
        }
        infer(upstream, direct(new byte[1])).failure();
        try (var again = FakeGrpcServer.unary(endpoint.port(), echo)) {
            await().atMost(Duration.ofSeconds(20)).ignoreExceptions().until(() -> {
                return infer(upstream, direct(new byte[1])).protobuf().length == 1;
            });
            assertThat(again.requests()).isPositive();
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void upstream_onEveryTransport_responds(Transport transport) throws Exception {
        try (var server = FakeGrpcServer.echo();
                var other = new UpstreamBench(transport);
                var upstream = new GrpcUpstream(
                        UpstreamSettings.of(
                                "triton", server.endpoint(), Duration.ofSeconds(60), Duration.ofSeconds(2), 1000),
                        ServerCapabilities.unknown(),
                        other.allocator())) {
            ByteBuf body = direct(new byte[16]);
            bodies.add(body);
            assertThat(other.send(reply -> upstream.send(
                                    other.call(),
                                    new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body)),
                                    reply))
                            .protobuf())
                    .hasSize(16);
        }
    }

    @Test
    void message_onAnotherWire_isRefusedAndReleased() throws Exception {
        ByteBuf body = direct(new byte[] {'{', '}'});
        bodies.add(body);
        var message = new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON));
        GrpcUpstream upstream = upstream(new Endpoint("127.0.0.1", 1));
        var failure = bench.send(reply ->
                        upstream.send(bench.call(), new UpstreamRequest.InferenceRequest(MODEL, message), reply))
                .failure();
        assertThat(failure).hasMessage("PROTOBUF is expected, got REST");
    }
}
