package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Calls of a gRPC client whose requests and responses a REST server has in binary: nothing counts twice. */
class MemoryOfLargeCallsTest {
    private static final int MIB = 1 << 20;
    private static final int TENSOR = 3 * MIB;
    private static final int CALLS = 2;
    /** Of what the calls hold at once: each its request until it was sent, or its response. */
    private static final long BUDGET = CALLS * (TENSOR + 64L * 1024);

    private final CountDownLatch received = new CountDownLatch(CALLS);

    /** Responds when it has received all requests. */
    private boolean respond(boolean inference, OutputStream out) throws IOException {
        if (!inference) {
            FakeRestServer.write(out, FakeRestServer.ok("{}"));
            return true;
        }
        received.countDown();
        try {
            received.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        String json = "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[" + TENSOR
                + "],\"parameters\":{\"binary_data_size\":" + TENSOR + "}}]}";
        FakeRestServer.write(
                out,
                "HTTP/1.1 200 OK\r\nInference-Header-Content-Length: " + json.length() + "\r\nContent-Length: "
                        + (json.length() + TENSOR) + "\r\n\r\n" + json);
        out.write(new byte[TENSOR]);
        out.flush();
        return true;
    }

    private static byte[] request() {
        byte[] message = ModelInferRequest.newBuilder()
                .setModelName("m")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("INT8")
                        .addShape(TENSOR))
                .addRawInputContents(ByteString.copyFrom(new byte[TENSOR]))
                .build()
                .toByteArray();
        return ByteBuffer.allocate(message.length + 5)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array();
    }

    @Test
    void callsThatFit_areServed() throws Exception {
        try (FakeRestServer server =
                        FakeRestServer.that((seen, out) -> respond(seen.head().startsWith("POST"), out));
                Stage stage = Stage.taking(
                        2 * TENSOR,
                        TestConfigs.with(
                                Stage.rest(server, ServerDialect.TRITON),
                                Map.of("binaryTensorData", BinaryTensorData.TRUE)))) {
            double share = BUDGET * 16.0 / 15 / PlatformDependent.maxDirectMemory();
            stage.limiting(Map.of("maxBuffered", share));
            try (Http2Client client = new Http2Client(stage.port())) {
                List<Http2Client.Response> calls = new ArrayList<>();
                for (int i = 0; i < CALLS; i++) {
                    calls.add(client.post(
                            "/" + FakeGrpcServer.SERVICE + "/ModelInfer",
                            request(),
                            "content-type",
                            "application/grpc",
                            "te",
                            "trailers"));
                }
                for (Http2Client.Response call : calls) {
                    assertThat(call.trailers().get("grpc-message")).isNull();
                    assertThat(call.trailers().get("grpc-status")).hasToString("0");
                }
            }
            await().untilAsserted(() -> assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.memory.used")
                            .gauge()
                            .value())
                    .isZero());
        }
    }
}
