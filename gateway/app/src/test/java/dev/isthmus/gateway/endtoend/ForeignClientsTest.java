package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Real HTTP/2 and gRPC clients of several years against a gateway in front of the real Triton: many small responses on
 * one stream, and many calls that end early next to one that continues. The clients are in {@code conformance/clients}.
 */
@ExtendWith(RealServers.Shared.class)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ForeignClientsTest {
    /** Responses of one stream: one of Triton's models responds once per input element. */
    private static final int RESPONSES = 20_000;

    private static final int ENDED_EARLY = 2_000;

    private static final MethodDescriptor<ModelInferRequest, ModelStreamInferResponse> STREAM =
            MethodDescriptor.<ModelInferRequest, ModelStreamInferResponse>newBuilder()
                    .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                    .setFullMethodName("inference.GRPCInferenceService/ModelStreamInfer")
                    .setRequestMarshaller(ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()))
                    .setResponseMarshaller(ProtoUtils.marshaller(ModelStreamInferResponse.getDefaultInstance()))
                    .build();

    @TempDir
    static Path folder = Path.of(".");

    private static final ExecutorService THREADS = Executors.newVirtualThreadPerTaskExecutor();
    private static final List<Future<?>> EARLIER = new ArrayList<>();
    private static Gateway gateway;

    /** The clients that wait for most of their time run beside the others. */
    @BeforeAll
    static void start(RealServers servers) throws Exception {
        servers.triton.awaitReady();
        gateway = TestGateways.start("""
                listeners: [{port: 0, management: allow}]
                upstreams: {triton: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}}
                default_upstream: triton
                """.formatted(servers.triton.grpcPort));
        TestGateways.awaitReady(gateway);
        for (String version : List.of("grpcio-1.49", "grpcio-1.57")) {
            List<String> program = grpcio(version);
            EARLIER.add(THREADS.submit(() -> {
                assertAllResponses(1, program);
                return null;
            }));
        }
    }

    @AfterAll
    static void stop() {
        THREADS.close();
        gateway.close();
    }

    /** C-core up to 1.57 sends two WINDOW_UPDATEs for each response that arrives in a read of its own. */
    @Test
    @Order(Integer.MAX_VALUE)
    void smallResponsesApart_earlierGrpcio() throws Exception {
        for (Future<?> client : EARLIER) {
            client.get();
        }
    }

    @Test
    void smallResponses_grpcio() throws Exception {
        assertAllResponses(0, grpcio("client"));
    }

    private static List<String> grpcio(String component) throws IOException, InterruptedException {
        return List.of(
                installed(component).resolve("bin/python").toString(),
                Script.path("clients/stream.py").toString());
    }

    @Test
    void smallResponses_grpcGo() throws Exception {
        assertAllResponses(0, List.of(installed("grpc-go").resolve("stream").toString()));
    }

    @Test
    void smallResponses_grpcJs() throws Exception {
        assertAllResponses(
                0, List.of("node", installed("grpc-js").resolve("stream.js").toString()));
    }

    @Test
    void smallResponses_grpcJava() throws Exception {
        CompletableFuture<Integer> counted = new CompletableFuture<>();
        ManagedChannel channel = NettyChannelBuilder.forTarget(TestGateways.address(gateway))
                .usePlaintext()
                .build();
        try {
            StreamObserver<ModelInferRequest> stream = ClientCalls.asyncBidiStreamingCall(
                    channel.newCall(STREAM, CallOptions.DEFAULT), new Counter(counted));
            stream.onNext(repeat(0));
            stream.onCompleted();
            assertThat(counted.get(20, TimeUnit.MINUTES)).isEqualTo(RESPONSES);
        } finally {
            channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void requests_h2load() throws Exception {
        installed("h2load");
        Script.Outcome outcome = Script.run(
                Map.of(),
                List.of(
                        "h2load",
                        "--requests=" + RESPONSES,
                        "--clients=1",
                        "--max-concurrent-streams=100",
                        "http://" + TestGateways.address(gateway) + "/v2/models/repeat_int32/ready"));
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.text()).contains("status codes: " + RESPONSES + " 2xx");
    }

    @Test
    void expiredAndCancelledCalls_leaveTheirNeighbourAlone() throws Exception {
        Script.Outcome outcome = Script.run(
                Map.of(),
                List.of(
                        Script.clientPython(),
                        Script.path("clients/ended_early.py").toString(),
                        TestGateways.address(gateway),
                        Integer.toString(ENDED_EARLY)));
        assertThat(outcome.complaint()).isEmpty();
    }

    private static void assertAllResponses(int delayMillis, List<String> program) throws Exception {
        Path request = Files.createTempFile(folder, "request", "");
        Files.write(request, repeat(delayMillis).toByteArray());
        Script.Outcome outcome = Script.run(
                Map.of(),
                Stream.concat(program.stream(), Stream.of(TestGateways.address(gateway), request.toString()))
                        .toList());
        assertThat(outcome.complaint()).isEmpty();
        assertThat(outcome.lastLine()).isEqualTo(Integer.toString(RESPONSES));
    }

    private static Path installed(String component) throws IOException, InterruptedException {
        return Script.folder(component, Script.run("install.sh", component));
    }

    /**
     * Requests as many responses as its first input has elements. A millisecond apart they do not share reads, so the
     * client sends as many WINDOW_UPDATEs as it ever does.
     */
    private static ModelInferRequest repeat(int delayMillis) {
        return ModelInferRequest.newBuilder()
                .setModelName("repeat_int32")
                .addInputs(input("IN", "INT32", RESPONSES))
                .addInputs(input("DELAY", "UINT32", RESPONSES))
                .addInputs(input("WAIT", "UINT32", 1))
                .addRawInputContents(numbers(i -> i))
                .addRawInputContents(numbers(i -> delayMillis))
                .addRawInputContents(ByteString.copyFrom(new byte[Integer.BYTES]))
                .build();
    }

    private static ModelInferRequest.InferInputTensor input(String name, String datatype, int elements) {
        return ModelInferRequest.InferInputTensor.newBuilder()
                .setName(name)
                .setDatatype(datatype)
                .addShape(elements)
                .build();
    }

    private static ByteString numbers(IntUnaryOperator value) {
        ByteBuffer numbers = ByteBuffer.allocate(RESPONSES * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < RESPONSES; i++) {
            numbers.putInt(value.applyAsInt(i));
        }
        return ByteString.copyFrom(numbers.flip());
    }

    /** Counts the responses up to the end of the stream, and checks their order. */
    private static final class Counter implements StreamObserver<ModelStreamInferResponse> {
        private final CompletableFuture<Integer> counted;
        private int count;

        Counter(CompletableFuture<Integer> counted) {
            this.counted = counted;
        }

        @Override
        public void onNext(ModelStreamInferResponse response) {
            int value = response.getInferResponse()
                    .getRawOutputContents(0)
                    .asReadOnlyByteBuffer()
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .getInt();
            if (value != count++) {
                counted.completeExceptionally(new AssertionError("response " + count + " has " + value));
            }
        }

        @Override
        public void onError(Throwable failure) {
            counted.completeExceptionally(new AssertionError("after " + count + " responses", failure));
        }

        @Override
        public void onCompleted() {
            counted.complete(count);
        }
    }
}
