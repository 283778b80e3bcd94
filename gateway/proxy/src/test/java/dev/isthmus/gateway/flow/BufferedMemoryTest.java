package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Limits;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.internal.PlatformDependent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Requests beyond the memory limit for all requests. The last bytes are held back, so that all are in flight at once.
 */
class BufferedMemoryTest {
    private static final int FLOATS = 1 << 18;
    private static final int TENSOR = FLOATS * Float.BYTES;
    private static final int FIT = 5;
    private static final int BEYOND = 3;
    private static final String END = "]}]}";
    private static final String PATH = "/v2/models/m/infer";

    private final List<Http1Client> clients = new ArrayList<>();
    private FakeGrpcServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer((call, message) -> call.sendMessage(Infer.responseTo(
                        Infer.request(message),
                        Infer.request(message).getRawInputContents(0).size())
                .toByteArray()));
        stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC));
        GatewayConfig config = stage.proxy().config();
        double share = (FIT * 1.1 * TENSOR) / PlatformDependent.maxDirectMemory();
        Limits limits = TestConfigs.with(config.limits(), Map.of("maxBuffered", share));
        stage.proxy().reload(TestConfigs.with(config, Map.of("limits", limits)));
    }

    @AfterEach
    void stop() throws Exception {
        for (Http1Client client : clients) {
            client.close();
        }
        stage.close();
        server.close();
    }

    private double meter(String name) {
        MeterRegistry meters = stage.proxy().meters();
        return meters.get(name).meter().measure().iterator().next().getValue();
    }

    /** A request without its last byte. */
    private static byte[] begun() {
        return ("{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"FP32\",\"shape\":[" + FLOATS + "],\"data\":[0.5"
                        + ",0.48627451".repeat(FLOATS - 1))
                .getBytes(StandardCharsets.US_ASCII);
    }

    private Http1Client begin(byte[] body) throws Exception {
        Http1Client client = stage.http1();
        clients.add(client);
        int length = body.length + END.length();
        return client.send("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + length + "\r\n\r\n")
                .send(body);
    }

    @Test
    void requestsBeyondTheBudget_areRefusedAndTheOthersServed() throws Exception {
        byte[] body = begun();
        for (int i = 1; i <= FIT; i++) {
            int begun = i;
            begin(body);
            await().untilAsserted(() ->
                    assertThat(meter("isthmus.memory.used")).isBetween((double) begun * TENSOR, begun * TENSOR * 1.1));
        }
        for (int i = 0; i < BEYOND; i++) {
            Http1Client.Response refused = begin(body).response();
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.header("retry-after")).isEqualTo("1");
        }
        for (Http1Client client : clients.subList(0, FIT)) {
            Http1Client.Response served = client.send(END).response();
            assertThat(served.status()).isEqualTo(200);
            assertThat(served.text()).contains("\"data\":[" + TENSOR + "]");
        }
        assertThat(meter("isthmus.memory.refused")).isEqualTo(BEYOND);
        // A client may receive its response before the gateway notices that the other client has disconnected.
        await().untilAsserted(() -> assertThat(meter("isthmus.memory.used")).isZero());
    }

    @Test
    void requestThatNeverFits_isTooLarge() throws Exception {
        byte[] body = ("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP64\",\"shape\":[" + FIT * FLOATS + "],\"data\":[0"
                        + ",0".repeat(FIT * FLOATS - 1) + END)
                .getBytes(StandardCharsets.US_ASCII);
        Http1Client.Response refused = begin(body).response();
        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.header("retry-after")).isEmpty();
    }

    @Test
    void clientThatGoes_givesItsMemoryBack() throws Exception {
        Http1Client client = begin(begun());
        await().until(() -> meter("isthmus.memory.used") >= TENSOR);
        client.close();
        clients.clear();
        await().until(() -> meter("isthmus.memory.used") == 0);
    }

    @Test
    void grpcMessageBeyondTheBudget_isRefused() throws Exception {
        byte[] body = begun();
        for (int i = 1; i <= FIT; i++) {
            double held = i * (double) TENSOR;
            begin(body);
            await().until(() -> meter("isthmus.memory.used") >= held);
        }
        ModelInferRequest small = Infer.request("m", "a", 1);
        byte[] request = small.toBuilder()
                .setRawInputContents(0, ByteString.copyFrom(new byte[TENSOR]))
                .setInputs(0, small.getInputs(0).toBuilder().setShape(0, FLOATS))
                .build()
                .toByteArray();
        GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request);
        assertThat(client.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    }
}
