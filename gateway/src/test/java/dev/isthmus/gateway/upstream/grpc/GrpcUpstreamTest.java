package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Asking;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.transcoder.InferMessage;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against a real gRPC server on loopback that passes bytes as they are. */
class GrpcUpstreamTest {
    private static final ModelRef MODEL = new ModelRef("m", "3");
    private static final int MAX = 20 << 20;

    /** Bytes as they are. */
    private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    };

    private final Asking asking = new Asking();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private Function<byte[], byte[]> behaviour = request -> request;
    private Server server;
    private GrpcUpstream upstream;

    @BeforeEach
    void start() throws IOException {
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .maxInboundMessageSize(MAX)
                .addService(service())
                .build()
                .start();
        upstream = new GrpcUpstream(
                new UpstreamSettings(
                        "u",
                        List.of(new Endpoint("127.0.0.1", server.getPort())),
                        Duration.ofSeconds(30),
                        Duration.ofSeconds(1),
                        MAX),
                asking.transport);
    }

    @AfterEach
    void stop() throws InterruptedException {
        upstream.close();
        asking.close();
        server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }

    private BindableService service() {
        return () -> {
            ServerServiceDefinition.Builder builder = ServerServiceDefinition.builder("inference.GRPCInferenceService");
            for (String method : List.of("ModelInfer", "ServerReady", "ModelReady", "ModelMetadata")) {
                builder.addMethod(
                        MethodDescriptor.newBuilder(BYTES, BYTES)
                                .setType(MethodDescriptor.MethodType.UNARY)
                                .setFullMethodName("inference.GRPCInferenceService/" + method)
                                .build(),
                        handler());
            }
            return builder.build();
        };
    }

    private ServerCallHandler<byte[], byte[]> handler() {
        return ServerCalls.asyncUnaryCall((request, observer) -> {
            Context.current().addListener(context -> cancelled.countDown(), Runnable::run);
            byte[] answer;
            try {
                answer = behaviour.apply(request);
            } catch (RuntimeException e) {
                observer.onError(e);
                return;
            }
            if (answer.length != 1 || answer[0] != -1) {
                observer.onNext(answer);
                observer.onCompleted();
            }
        });
    }

    private void answers(MessageLite message) {
        behaviour = request -> message.toByteArray();
    }

    private BiFunction<Call, Reply, Cancellation> infer(byte[] message) {
        return (call, reply) -> upstream.infer(
                call,
                MODEL,
                new InferMessage.Protobuf(ByteBufAllocator.DEFAULT.buffer().writeBytes(message)),
                reply);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 16, 602_112, 16 << 20})
    void infer_bytesGoAndComeUnchanged(int size) {
        byte[] message = new byte[size];
        new SplittableRandom(1).nextBytes(message);
        for (int i = 0; i < 3; i++) {
            Answer.Inference answer = (Answer.Inference) asking.ask(infer(message));
            assertThat(ByteBufUtil.getBytes(((InferMessage.Protobuf) answer.message()).message()))
                    .isEqualTo(message);
            answer.release();
        }
    }

    @Test
    void failure_ofTheServer_keepsCodeAndText() {
        behaviour = request -> {
            throw Status.NOT_FOUND.withDescription("no such model").asRuntimeException();
        };
        OipException failure = asking.failure(infer(new byte[4]));
        assertThat(failure.code()).isEqualTo(ErrorCode.NOT_FOUND);
        assertThat(failure.message()).isEqualTo("no such model");
    }

    @Test
    void server_notThere_isUnavailable() throws InterruptedException {
        server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        OipException failure = asking.failure(infer(new byte[4]));
        assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(failure.message()).isEqualTo("upstream 'u' is not reachable");
    }

    @Test
    void deadline_passes_isDeadlineExceededAndCancelsTheServer() throws InterruptedException {
        behaviour = request -> new byte[] {-1};
        OipException failure = asking.failure(asking.start(Map.of(), 200, infer(new byte[4])));
        assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        assertThat(failure.message()).isEqualTo("upstream 'u' did not answer in time");
        assertThat(cancelled.await(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void cancel_reachesTheServer() throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(1);
        behaviour = request -> {
            arrived.countDown();
            return new byte[] {-1};
        };
        Asking.Question question = asking.start(Map.of(), 0, infer(new byte[4]));
        assertThat(arrived.await(10, TimeUnit.SECONDS)).isTrue();
        asking.ask((call, reply) -> {
            question.cancellation().join().cancel();
            reply.only(new Answer.Live(true));
            return Cancellation.NONE;
        });
        assertThat(cancelled.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(question.answer()).isNotDone();
    }

    @Test
    void readiness_isRead() {
        answers(ServerReadyResponse.newBuilder().setReady(true).build());
        assertThat(asking.ask(upstream::serverReady)).isEqualTo(new Answer.Ready(true));
        answers(ModelReadyResponse.newBuilder().setReady(true).build());
        assertThat(asking.ask((call, reply) -> upstream.modelReady(call, MODEL, reply)))
                .isEqualTo(new Answer.ModelReady(MODEL, true));
    }

    @Test
    void modelReady_ofUnknownModel_isNo() {
        for (Status status : List.of(Status.NOT_FOUND, Status.UNKNOWN, Status.INVALID_ARGUMENT)) {
            behaviour = request -> {
                throw status.asRuntimeException();
            };
            assertThat(asking.ask((call, reply) -> upstream.modelReady(call, MODEL, reply)))
                    .isEqualTo(new Answer.ModelReady(MODEL, false));
        }
    }

    @Test
    void metadata_withMlServersParameters_isRead() {
        answers(ModelMetadataResponse.newBuilder()
                .setName("m")
                .addVersions("3")
                .addInputs(ModelMetadataResponse.TensorMetadata.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(-1))
                .putParameters(
                        "p", InferParameter.newBuilder().setStringParam("q").build())
                .build());
        Answer.Model answer = (Answer.Model) asking.ask((call, reply) -> upstream.modelMetadata(call, MODEL, reply));
        assertThat(answer.metadata().parameters()).containsEntry("p", new Parameter.Text("q"));
        assertThat(answer.metadata().versions()).containsExactly("3");
    }

    @Test
    void answer_malformed_isABadAnswer() {
        behaviour = request -> new byte[] {1, 2, 3};
        assertThat(asking.failure(upstream::serverReady).code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
    }
}
