package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.ingress.CountedIngress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cost of a tensor between a gRPC client and a gRPC server and back: bytes copied and heap allocated. */
class GrpcCopiesTest {
    private static final int TENSOR = 1 << 20;
    /** Arrives in more parts than one write accepts (IOV_MAX): 1,280 frames of 16 KiB. */
    private static final int MANY_PARTS = 20 << 20;
    /**
     * Bytes copied per call: headers, prefixes, the fields before a tensor, and twice each way less than 1 KiB where
     * one of eight reads of 128 KiB ends within a frame.
     */
    private static final long SMALL = 32 * 1024;
    /** Bytes of heap that a small call may take, more than half of them for leak detection in tests. */
    private static final long SMALL_CALL = 18 * 1024;

    private FakeGrpcServer server;
    private ProxyServer gateway;
    private CountedIngress ingress;
    private ManagedChannel counted;
    private ManagedChannel channel;

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        server = new FakeGrpcServer((call, message) -> call.sendMessage(
                Infer.responseTo(Infer.request(message), Infer.request(message).getRawInputContents(0))
                        .toByteArray()));
        Path config = Files.writeString(directory.resolve("isthmus.yaml"), """
                listeners: [{host: 127.0.0.1, port: 0}]
                limits: {max_body_size: 64MiB}
                upstreams:
                  server: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                default_upstream: server
                """.formatted(
                        server.endpoint().port()));
        gateway = ProxyServer.start(ConfigLoader.load(config));
        ingress = new CountedIngress(Transport.best(), gateway.listenerContext());
        counted = channel(ingress.port());
        channel = channel(gateway.addresses().get(0).getPort());
    }

    private static ManagedChannel channel(int port) {
        return NettyChannelBuilder.forAddress("127.0.0.1", port)
                .usePlaintext()
                .directExecutor()
                .maxInboundMessageSize(64 << 20)
                .build();
    }

    @AfterEach
    void stop() {
        counted.shutdownNow();
        channel.shutdownNow();
        await().atMost(Duration.ofSeconds(10)).until(() -> counted.isTerminated() && channel.isTerminated());
        ingress.close();
        gateway.close();
        server.close();
    }

    private static ModelInferRequest request(int bytes) {
        byte[] tensor = new byte[bytes];
        for (int i = 0; i < bytes; i += 1009) {
            tensor[i] = (byte) i;
        }
        return ModelInferRequest.newBuilder()
                .setModelName("m")
                .setId("1")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("INPUT0")
                        .setDatatype("UINT8")
                        .addShape(bytes))
                .addRawInputContents(ByteString.copyFrom(tensor))
                .build();
    }

    private static void echoed(ManagedChannel over, ModelInferRequest request) throws Exception {
        GrpcClient client = GrpcClient.ask(over, "ModelInfer", new Metadata(), request.toByteArray());
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(Infer.response(client.response()).getRawOutputContents(0).equals(request.getRawInputContents(0)))
                .isTrue();
    }

    private Map<String, Long> copied(ModelInferRequest request) throws Exception {
        ingress.copies.take();
        echoed(counted, request);
        return ingress.copies.take();
    }

    private static long sum(Map<String, Long> copies) {
        return copies.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Bytes of heap per call, after as many warm-up calls. */
    private long heap(ModelInferRequest request, int calls) throws Exception {
        for (int i = 0; i < calls; i++) {
            echoed(channel, request);
        }
        long before = LoopHeap.taken();
        for (int i = 0; i < calls; i++) {
            echoed(channel, request);
        }
        return (LoopHeap.taken() - before) / calls;
    }

    @Test
    void tensor_isNotCopied() throws Exception {
        ModelInferRequest request = request(TENSOR);
        copied(request);
        for (int i = 0; i < 5; i++) {
            Map<String, Long> copies = copied(request);
            assertThat(sum(copies)).as("%s", copies).isLessThan(SMALL);
        }
    }

    @Test
    void tensorOfMoreParts_thanASocketWritesAtOnce_isNotCopied() throws Exception {
        ModelInferRequest request = request(MANY_PARTS);
        Map<String, Long> copies = copied(request);
        assertThat(sum(copies)).as("%s", copies).isLessThan(MANY_PARTS / 100);
    }

    @Test
    void tensorOfManyParts_isNotPutOnTheHeap() throws Exception {
        // Most of it is the leak detector's record of each slice.
        assertThat(heap(request(TENSOR), 50)).isLessThan(TENSOR / 2);
    }

    @Test
    void smallCall_takesLittleHeap() throws Exception {
        assertThat(heap(request(16), 1000)).isLessThan(SMALL_CALL);
    }
}
