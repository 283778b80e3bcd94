package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.OutputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A receiver that does not read stops its sender once the buffers between them are full; then everything arrives. */
class BackPressureTest {
    private static final String STREAM = "ModelStreamInfer";
    private static final String EVENTS = "/v2/models/m/infer_stream";
    private static final int PIECE = 32 * 1024;
    private static final ByteString CONTENT = ByteString.copyFrom(new byte[PIECE]);
    private static final int MANY = 1500;
    /** Far more than windows and socket buffers hold, far less than there is to send. */
    private static final int BOUND = 1000;

    /** Sends MANY responses to one request, as fast as they are read. */
    private static final class Fast implements FakeGrpcServer.Script {
        final AtomicInteger sent = new AtomicInteger();
        private ModelInferRequest request = ModelInferRequest.getDefaultInstance();

        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            request = Infer.request(message);
            ready(call);
        }

        @Override
        public void ready(ServerCall<byte[], byte[]> call) {
            while (!request.getModelName().isEmpty() && call.isReady() && sent.get() < MANY) {
                call.sendMessage(Infer.enveloped(Infer.responseTo(request, CONTENT)));
                if (sent.incrementAndGet() == MANY) {
                    call.close(Status.OK, new Metadata());
                }
            }
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {
            // The last response ends the call.
        }
    }

    /** Reads one request, and the others on demand. */
    private static final class Slow implements FakeGrpcServer.Script {
        final AtomicReference<ServerCall<byte[], byte[]>> call = new AtomicReference<>();
        final AtomicInteger taken = new AtomicInteger();

        @Override
        public void message(ServerCall<byte[], byte[]> from, byte[] message) {
            taken.incrementAndGet();
            call.set(from);
        }

        @Override
        public boolean eager() {
            return false;
        }
    }

    /** Waits until the number has been stable for a while. */
    private static int settled(AtomicInteger number) {
        AtomicInteger before = new AtomicInteger(-1);
        await().pollInterval(Duration.ofMillis(300))
                .atMost(Duration.ofSeconds(30))
                .until(() -> number.get() > 0 && before.getAndSet(number.get()) == number.get());
        return number.get();
    }

    private static byte[] large(String model) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId("a")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("INPUT0")
                        .setDatatype("INT32")
                        .addShape(PIECE / Integer.BYTES))
                .addRawInputContents(CONTENT)
                .build()
                .toByteArray();
    }

    @Test
    void grpcClient_thatDoesNotRead_stopsTheServer() throws Exception {
        Fast fast = new Fast();
        try (FakeGrpcServer server = new FakeGrpcServer(fast);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM, new Metadata(), CallOptions.DEFAULT, 1);
            client.send(Infer.request("m", "a", 1).toByteArray());
            client.end();
            client.response();
            assertThat(settled(fast.sent)).isLessThan(BOUND);
            client.take(9);
            for (int i = 0; i < 9; i++) {
                client.response();
            }
            assertThat(settled(fast.sent)).isLessThan(BOUND);
            assertThat(client.responses).isEmpty();
            client.take(MANY);
            for (int i = 10; i < MANY; i++) {
                assertThat(Infer.envelope(client.response()).getErrorMessage()).isEmpty();
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void grpcClient_thatDoesNotRead_goes() throws Exception {
        Fast fast = new Fast();
        try (FakeGrpcServer server = new FakeGrpcServer(fast);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM, new Metadata(), CallOptions.DEFAULT, 0);
            client.send(Infer.request("m", "a", 1).toByteArray());
            assertThat(settled(fast.sent)).isLessThan(BOUND);
            client.cancel();
            assertThat(FakeGrpcServer.next(server.cancelled)).isEqualTo(STREAM);
        }
    }

    @Test
    void restClient_thatDoesNotRead_stopsTheGrpcServer() throws Exception {
        Fast fast = new Fast();
        try (FakeGrpcServer server = new FakeGrpcServer(fast);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.post(EVENTS, Infer.json("a", 1));
            assertThat(settled(fast.sent)).isLessThan(BOUND);
            assertThat(client.head().status()).isEqualTo(200);
            int events = 0;
            for (String chunk = client.chunk(); !chunk.isEmpty(); chunk = client.chunk()) {
                assertThat(chunk).startsWith("data: {\"id\"").endsWith("}\n\n");
                events++;
            }
            assertThat(events).isEqualTo(MANY);
        }
    }

    @Test
    void restClient_thatDoesNotRead_goes() throws Exception {
        Fast fast = new Fast();
        try (FakeGrpcServer server = new FakeGrpcServer(fast);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            try (Http1Client client = stage.http1()) {
                client.post(EVENTS, Infer.json("a", 1));
                assertThat(settled(fast.sent)).isLessThan(BOUND);
            }
            assertThat(FakeGrpcServer.next(server.cancelled)).isEqualTo(STREAM);
        }
    }

    private static FakeRestServer streaming(AtomicInteger sent) throws Exception {
        String event = "data: {\"text\":\"" + "x".repeat(PIECE - 20) + "\"}\r\n\r\n";
        String json = "data: " + Infer.responseJson("m", "a", 1) + " ".repeat(PIECE) + "\n\n";
        return FakeRestServer.that((request, out) -> {
            write(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            String one = request.head().contains("generate") ? event : json;
            if (request.head().startsWith("POST /v2/models/")) {
                send(out, one, sent);
            }
            write(out, "0\r\n\r\n");
            return true;
        });
    }

    private static void send(OutputStream out, String event, AtomicInteger sent) throws java.io.IOException {
        String chunk = Integer.toHexString(event.length()) + "\r\n" + event + "\r\n";
        while (sent.get() < MANY) {
            write(out, chunk);
            sent.incrementAndGet();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {EVENTS, "/v2/models/m/generate_stream"})
    void restClient_thatDoesNotRead_stopsTheRestServer(String path) throws Exception {
        AtomicInteger sent = new AtomicInteger();
        try (FakeRestServer server = streaming(sent);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER));
                Http1Client client = stage.http1()) {
            client.post(path, Infer.json("a", 1));
            if (path.equals(EVENTS)) {
                // The transcoded response is small: it fits into the buffers, so the client is not slow.
                assertThat(client.head().status()).isEqualTo(200);
            } else {
                assertThat(settled(sent)).isLessThan(BOUND);
                assertThat(client.head().status()).isEqualTo(200);
            }
            String all = client.chunks();
            assertThat(all.split("\n\r?\n", 0)).hasSize(MANY);
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
    }

    @Test
    void restClient_thatDoesNotRead_goes_andTheRestServersConnectionIsClosed() throws Exception {
        AtomicInteger sent = new AtomicInteger();
        try (FakeRestServer server = streaming(sent);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            try (Http1Client client = stage.http1()) {
                client.post("/v2/models/m/generate_stream", "{}");
                assertThat(settled(sent)).isLessThan(BOUND);
            }
            server.awaitConnectionClosed();
        }
    }

    @Test
    void server_thatDoesNotTake_stopsTheClient() throws Exception {
        Slow slow = new Slow();
        try (FakeGrpcServer server = new FakeGrpcServer(slow);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM);
            AtomicInteger sent = new AtomicInteger();
            byte[] message = large("m");
            assertThat(flood(client, message, sent)).isLessThan(BOUND);
            await().untilAsserted(() -> assertThat(slow.taken).hasValue(1));
            slow.call.get().request(BOUND * 2);
            await().atMost(Duration.ofSeconds(20)).until(() -> slow.taken.get() == sent.get() && client.ready());
            for (int i = 0; i < 50; i++) {
                client.send(message);
                sent.incrementAndGet();
            }
            await().atMost(Duration.ofSeconds(20)).until(() -> slow.taken.get() == sent.get());
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /** Sends while the stream is ready; ends when it is ready no more, for a while. */
    private static int flood(GrpcClient client, byte[] message, AtomicInteger sent) {
        await().atMost(Duration.ofSeconds(60)).until(client::ready);
        AtomicLong last = new AtomicLong(System.nanoTime());
        await().pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(60))
                .until(() -> {
                    while (client.ready() && sent.get() < BOUND) {
                        client.send(message);
                        sent.incrementAndGet();
                        last.set(System.nanoTime());
                    }
                    return sent.get() >= BOUND || System.nanoTime() - last.get() > TimeUnit.MILLISECONDS.toNanos(700);
                });
        return sent.get();
    }

    @Test
    void restServer_thatDoesNotRespond_stopsTheClient() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger taken = new AtomicInteger();
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    if (request.head().startsWith("POST /v2/models/")) {
                        taken.incrementAndGet();
                        awaitLatch(go);
                    }
                    write(out, FakeRestServer.ok(Infer.responseJson("m", "a", 1)));
                    return true;
                });
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM);
            AtomicInteger sent = new AtomicInteger();
            assertThat(flood(client, large("m"), sent)).isLessThan(BOUND);
            await().untilAsserted(() -> assertThat(taken).hasValue(1));
            go.countDown();
            for (int i = 0; i < sent.get(); i++) {
                client.response();
            }
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void grpcClient_thatDoesNotRead_stopsRequestsToARestServer() throws Exception {
        AtomicInteger responses = new AtomicInteger();
        String response =
                "{\"model_name\":\"m\",\"id\":\"a\",\"outputs\":[{\"name\":\"OUTPUT0\",\"datatype\":\"UINT8\","
                        + "\"shape\":[" + PIECE + "],\"data\":[0" + ",0".repeat(PIECE - 1) + "]}]}";
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    if (request.head().startsWith("POST /v2/models/")) {
                        responses.incrementAndGet();
                    }
                    write(out, FakeRestServer.ok(response));
                    return true;
                });
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM, new Metadata(), CallOptions.DEFAULT, 0);
            byte[] message = Infer.request("m", "a", 1).toByteArray();
            for (int i = 0; i < MANY; i++) {
                client.send(message);
            }
            client.end();
            assertThat(settled(responses)).isLessThan(BOUND);
            client.take(MANY);
            for (int i = 0; i < MANY; i++) {
                client.response();
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void grpcClient_thatDoesNotRead_andSendsOnlyMistakes_isStopped() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Slow());
                Stage stage = new Stage(
                        java.util.Map.of("server", Stage.grpc(server, ServerDialect.TRITON)),
                        java.util.Map.of("m", "server"),
                        null)) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM, new Metadata(), CallOptions.DEFAULT, 0);
            AtomicInteger sent = new AtomicInteger();
            // The response repeats the id, so that windows fill in both directions.
            byte[] mistake = Infer.request("x", "a".repeat(PIECE), 1).toByteArray();
            assertThat(flood(client, mistake, sent)).isLessThan(BOUND);
            client.take(BOUND);
            for (int i = 0; i < sent.get(); i++) {
                assertThat(Infer.envelope(client.response()).getErrorMessage()).startsWith("unknown model");
            }
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            if (!latch.await(30, TimeUnit.SECONDS)) {
                throw new AssertionError("the test never went on");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
