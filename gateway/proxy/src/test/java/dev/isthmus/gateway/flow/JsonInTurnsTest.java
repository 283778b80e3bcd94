package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** JSON of many turns of an event loop on its way to a gRPC server, whose response is the sum of the numbers. */
class JsonInTurnsTest {
    private static final String PATH = "/v2/models/m/infer";
    /** About 2 MB of text. */
    private static final int NUMBERS = 200_000;

    private FakeGrpcServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer((call, message) -> {
            ModelInferRequest request = Infer.request(message);
            call.sendMessage(Infer.responseTo(request, weighted(request)).toByteArray());
        });
        stage = Stage.taking(32 << 20, Stage.grpc(server, ServerDialect.TRITON));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    /** The sum of the numbers, each times its place: other bytes, or others' order, give another one. */
    private static int weighted(ModelInferRequest request) {
        var numbers = request.getRawInputContents(0)
                .asReadOnlyByteBuffer()
                .order(ByteOrder.LITTLE_ENDIAN)
                .asIntBuffer();
        int sum = 0;
        for (int i = 0; numbers.hasRemaining(); i++) {
            sum += (i + 1) * numbers.get();
        }
        return sum;
    }

    private static String json(String id, int first) {
        return "{\"id\":\"" + id + "\",\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[" + NUMBERS
                + "],\"data\":["
                + IntStream.range(0, NUMBERS)
                        .mapToObj(i -> Integer.toString(first + i))
                        .collect(Collectors.joining(","))
                + "]}]}";
    }

    private static String response(String id, int first) {
        int sum = IntStream.range(0, NUMBERS).map(i -> (i + 1) * (first + i)).sum();
        return Infer.responseJson("m", id, sum);
    }

    private double used() {
        return stage.proxy().meters().get("isthmus.memory.used").gauge().value();
    }

    private void awaitNoMemory() {
        await().untilAsserted(() -> assertThat(used()).isZero());
    }

    @Test
    void largeAndSmallRequests_inARow_keepTheirOrder() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post(PATH, json("a", 1_000_000_000))
                    .post(PATH, Infer.json("b", 7))
                    .post(PATH, json("c", 1_500_000_000))
                    .post(PATH, Infer.json("d", 8));

            assertThat(client.response().text()).isEqualTo(response("a", 1_000_000_000));
            assertThat(client.response().text()).isEqualTo(Infer.responseJson("m", "b", 7));
            assertThat(client.response().text()).isEqualTo(response("c", 1_500_000_000));
            assertThat(client.response().text()).isEqualTo(Infer.responseJson("m", "d", 8));
        }
        awaitNoMemory();
    }

    @Test
    void otherConnections_areServedMeanwhile() throws Exception {
        try (Http1Client large = stage.http1();
                Http1Client small = stage.http1()) {
            byte[] body = json("a", 1_000_000_000).getBytes(StandardCharsets.US_ASCII);
            large.send("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + body.length + "\r\n\r\n")
                    .send(new String(body, 0, body.length / 2, StandardCharsets.US_ASCII));
            small.post(PATH, Infer.json("b", 7));
            assertThat(small.response().text()).isEqualTo(Infer.responseJson("m", "b", 7));
            large.send(new String(body, body.length / 2, body.length - body.length / 2, StandardCharsets.US_ASCII));
            assertThat(large.response().text()).isEqualTo(response("a", 1_000_000_000));
        }
        awaitNoMemory();
    }

    @Test
    void connectionThatIsClosedHalfWay_leavesNothing() throws Exception {
        String body = json("a", 1_000_000_000);
        try (Http1Client client = stage.http1()) {
            client.send("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + body.length() + "\r\n\r\n")
                    .send(body.substring(0, body.length() / 2));
            await().untilAsserted(() -> assertThat(used()).isPositive());
        }
        awaitNoMemory();
        assertThat(server.messages).isEmpty();
    }

    @Test
    void streamThatIsCancelledHalfWay_leavesNothing_andItsConnectionGoesOn() throws Exception {
        byte[] body = json("a", 1_000_000_000).getBytes(StandardCharsets.US_ASCII);
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response cancelled = client.begin(PATH, "content-type", "application/json");
            cancelled.data(body, 0, body.length / 2, false).sync();
            await().untilAsserted(() -> assertThat(used()).isPositive());
            cancelled.cancel();
            awaitNoMemory();

            assertThat(client.post(PATH, json("b", 1_500_000_000)).body()).isEqualTo(response("b", 1_500_000_000));
            assertThat(server.messages).hasSize(1);
        }
    }

    @Test
    void malformedNumberInTheMiddle_isRefused_andTheConnectionGoesOn() throws Exception {
        String body = json("a", 1_000_000_000);
        int middle = body.indexOf(',', body.length() / 2);
        try (Http1Client client = stage.http1()) {
            client.post(PATH, body.substring(0, middle) + "x" + body.substring(middle + 1))
                    .post(PATH, Infer.json("b", 7));
            assertThat(client.response().status()).isEqualTo(400);
            assertThat(client.response().text()).isEqualTo(Infer.responseJson("m", "b", 7));
        }
        awaitNoMemory();
    }
}
