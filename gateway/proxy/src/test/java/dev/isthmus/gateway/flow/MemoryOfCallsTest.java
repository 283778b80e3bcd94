package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.coding.Compressed;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Memory held for clients that have not sent everything or do not read counts against the budget. */
class MemoryOfCallsTest {
    private static final int MIB = 1 << 20;
    private static final int BUDGET = 4 * MIB;
    private static final ModelInferRequest REQUEST = Infer.request("m", "a", 1);
    private static final String GRPC = "/" + FakeGrpcServer.SERVICE + "/";
    private static final String REST = "/v2/models/m/infer";
    private static final String JSON =
            "{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}]}";

    private PartsServer server;
    private Stage stage;
    private Http2Client client;

    @BeforeEach
    void start() throws Exception {
        server = new PartsServer();
        UpstreamConfig upstream = TestConfigs.with(
                Stage.grpc(server, ServerDialect.MLSERVER),
                Map.of("retry", new Retry(2, EnumSet.allOf(RetryOn.class), MIB, 1)));
        stage = Stage.taking(32 * MIB, upstream);
        // A sixteenth is reserved for small calls.
        double share = BUDGET * 16.0 / 15 / PlatformDependent.maxDirectMemory();
        stage.limiting(Map.of("maxBuffered", share));
        client = new Http2Client(stage.port());
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        stage.close();
        server.close();
    }

    private double meter(String name) {
        MeterRegistry meters = stage.proxy().meters();
        return meters.get(name).meter().measure().iterator().next().getValue();
    }

    private void awaitUsed(double least, double most) {
        await().untilAsserted(() -> assertThat(meter("isthmus.memory.used")).isBetween(least, most));
    }

    /** A message of 2 MiB, half of which was sent. Its contents come first, so it cannot be forwarded in parts. */
    private Http2Client.Response half(String method) {
        Http2Client.Response call = client.begin(GRPC + method, "content-type", "application/grpc", "te", "trailers");
        byte[] data = ByteBuffer.allocate(5 + MIB)
                .put((byte) 0)
                .putInt(2 * MIB)
                .put(new byte[] {7 << 3 | 2})
                .array();
        call.data(data, 0, data.length, false);
        return call;
    }

    private static byte[] framed(byte[] message) {
        return ByteBuffer.allocate(message.length + 5)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array();
    }

    private static byte[] response(int bytes) {
        return framed(
                Infer.responseTo(REQUEST, ByteString.copyFrom(new byte[bytes])).toByteArray());
    }

    @Test
    void incompleteMessages_countAsTheyCome_andTheFirstBeyondTheBudgetIsRefused() throws Exception {
        List<Http2Client.Response> calls = new ArrayList<>();
        for (int i = 1; i <= BUDGET / MIB; i++) {
            calls.add(half("ModelInfer"));
            awaitUsed(i * (double) MIB, i * (double) MIB);
        }
        Http2Client.Response refused = half("ModelInfer");
        assertThat(refused.trailers().get("grpc-status")).hasToString("8");
        assertThat(refused.trailers().get("grpc-message").toString()).startsWith("memory limit of ");
        awaitUsed(BUDGET, BUDGET);
        calls.forEach(Http2Client.Response::cancel);
        awaitUsed(0, 0);
    }

    @Test
    void incompleteCompressedMessage_countsWhatItHasBecome() throws Exception {
        Http2Client.Response call = client.begin(
                GRPC + "ModelInfer", "content-type", "application/grpc", "te", "trailers", "grpc-encoding", "gzip");
        byte[] packed = Compressed.GZIP.of(new byte[MIB]);
        byte[] data = ByteBuffer.allocate(5 + packed.length)
                .put((byte) 1)
                .putInt(2 * MIB)
                .put(packed)
                .array();
        call.data(data, 0, data.length, false);
        awaitUsed(MIB, MIB + MIB / 4);
        call.cancel();
        awaitUsed(0, 0);
    }

    @Test
    void incompleteMessageOfAStream_counts() {
        Http2Client.Response call = half("ModelStreamInfer");
        awaitUsed(MIB, MIB + 100);
        call.cancel();
        awaitUsed(0, 0);
    }

    /** Its names take ten times their length in heap. */
    @Test
    void jsonThatBecomesMuchMoreThanItIsLong_countsAsWhatItBecomes() throws Exception {
        Http2Client.Response call = client.begin(REST, "content-type", "application/json");
        StringBuilder members = new StringBuilder("{");
        for (int i = 0; i < 60_000; i++) {
            members.append('"').append(i).append("\":0,");
        }
        byte[] json = members.toString().getBytes(StandardCharsets.US_ASCII);
        call.data(json, 0, json.length, false);
        assertThat(call.head().status()).hasToString("413");
        assertThat(call.body()).contains("fit into the gateway's memory");
        awaitUsed(0, 0);
    }

    @Test
    void gatheredRequest_countsUntilItsResponseComes() throws Exception {
        String json = "{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[" + MIB / 2 + "],\"data\":[1"
                + ",1".repeat(MIB / 2 - 1) + "]}]}";
        Http2Client.Response call = client.post(REST, json);
        PartsServer.Inference inference = server.next();
        awaitUsed(2 * MIB, 2 * MIB + MIB / 4);
        byte[] response = response(4);
        inference.head().data(response, 0, response.length).end("0");
        assertThat(call.head().status()).hasToString("200");
        awaitUsed(0, 0);
    }

    @Test
    void gatheredResponse_countsAsAWholeFromItsBeginning() throws Exception {
        Http2Client.Response call = client.post(REST, JSON);
        byte[] response = response(2 * MIB);
        server.next().head().data(response, 0, MIB);
        awaitUsed(2 * MIB, 2 * MIB + 1000);
        call.cancel();
        awaitUsed(0, 0);
    }

    /** Otherwise each would hold part of the memory, and none would complete. */
    @Test
    void gatheredResponsesThatDoNotAllFit_areRefusedFromTheFirstThatDoesNot() throws Exception {
        byte[] response = response(3 * MIB / 2);
        List<Http2Client.Response> calls = new ArrayList<>();
        List<PartsServer.Inference> begun = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            calls.add(client.post(REST, JSON));
            begun.add(server.next().head().data(response, 0, MIB));
            if (i < 2) {
                double held = (i + 1) * 1.5 * MIB;
                awaitUsed(held, held + 1000);
            }
        }
        assertThat(calls.getLast().head().status()).hasToString("503");
        for (int i = 0; i < 2; i++) {
            begun.get(i).data(response, MIB, response.length).end("0");
            assertThat(calls.get(i).head().status()).hasToString("200");
        }
    }

    @Test
    void gatheredResponseBeyondTheBudget_failsItsCallOnly_andIsNotCalledForAgain() throws Exception {
        Http2Client.Response call = client.post(REST, JSON);
        byte[] response = response(2 * BUDGET);
        server.next().head().data(response, 0, response.length);
        assertThat(call.head().status()).hasToString("503");
        assertThat(call.head().get("retry-after")).hasToString("1");
        assertThat(call.body()).contains("memory limit of ");
        awaitUsed(0, 0);
        assertThat(server.inferences).isEmpty();
        Http2Client.Response next = client.post(REST, JSON);
        byte[] small = response(4);
        server.next().head().data(small, 0, small.length).end("0");
        assertThat(next.head().status()).hasToString("200");
    }

    @Test
    void responseOfAClientThatDoesNotRead_countsUntilItGoes() throws Exception {
        Http2Client.Response call = client.post(REST, JSON);
        call.reading(false);
        byte[] response = response(3 * MIB / 2);
        server.next().head().data(response, 0, response.length).end("0");
        // The tensor, and part of its text.
        awaitUsed(3 * MIB / 2, 3 * MIB / 2 + (400 << 10));
        call.cancel();
        awaitUsed(0, 0);
    }

    @Test
    void responseOfAClientThatReadsLater_countsUntilItIsRead() throws Exception {
        Http2Client.Response call = client.post(REST, JSON);
        call.reading(false);
        byte[] response = response(3 * MIB / 2);
        server.next().head().data(response, 0, response.length).end("0");
        awaitUsed(3 * MIB / 2, 3 * MIB / 2 + (400 << 10));
        call.reading(true);
        assertThat(call.body()).endsWith("]}]}");
        awaitUsed(0, 0);
    }

    @Test
    void grpcResponseOfAClientThatReadsLater_countsUntilItIsRead() throws Exception {
        Http2Client.Response call = client.post(
                GRPC + "ModelInfer",
                framed(REQUEST.toByteArray()),
                "content-type",
                "application/grpc",
                "te",
                "trailers");
        call.reading(false);
        byte[] response = response(MIB / 4);
        server.next().head().data(response, 0, response.length).end("0");
        awaitUsed(1, MIB);
        call.reading(true);
        assertThat(call.trailers().get("grpc-status")).hasToString("0");
        awaitUsed(0, 0);
    }

    @Test
    void responseOverHttp1OfAClientThatDoesNotRead_countsUntilItIsRead() throws Exception {
        try (Http1Client slow = stage.http1()) {
            slow.post(REST, JSON);
            byte[] response = response(3 * MIB / 2);
            server.next().head().data(response, 0, response.length).end("0");
            assertThat(slow.response().status()).isEqualTo(200);
            awaitUsed(0, 0);
        }
    }

    @Test
    void passedResponseOfAClientThatDoesNotRead_countsWhatWaits() throws Exception {
        Http2Client.Response call = client.post(
                GRPC + "ModelInfer",
                framed(REQUEST.toByteArray()),
                "content-type",
                "application/grpc",
                "te",
                "trailers");
        call.reading(false);
        byte[] response = response(2 * BUDGET);
        server.next().head().data(response, 0, response.length).end("0");
        awaitUsed(1, MIB);
        call.cancel();
        awaitUsed(0, 0);
    }

    @Test
    void responsesOverHttp2_countUntilTheyAreRead() throws Exception {
        for (String path : List.of(GRPC + "ModelInfer", REST)) {
            boolean grpc = path.startsWith(GRPC);
            Http2Client.Response call = grpc
                    ? client.post(
                            path, framed(REQUEST.toByteArray()), "content-type", "application/grpc", "te", "trailers")
                    : client.post(path, JSON);
            call.reading(false);
            byte[] response = response(MIB / 4);
            server.next().head().data(response, 0, response.length).end("0");
            awaitUsed(1, 2 * MIB);
            call.reading(true);
            call.trailers();
            awaitUsed(0, 0);
        }
    }
}
