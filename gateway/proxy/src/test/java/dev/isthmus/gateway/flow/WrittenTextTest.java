package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Large JSON responses transcoded from a gRPC server are written as the client reads them. */
class WrittenTextTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final ModelInferRequest REQUEST = Infer.request("m", "a", 1);
    private static final int NUMBERS = 3 << 19;
    /** Memory for the text: one part in the socket's queue, and the part that made the client not ready. */
    private static final int TEXT = 512 << 10;

    private PartsServer server;
    private Stage stage;

    @BeforeEach
    void start() throws Exception {
        server = new PartsServer();
        stage = Stage.taking(32 << 20, Stage.grpc(server, ServerDialect.MLSERVER));
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        server.close();
    }

    private static byte[] response(int numbers) {
        ByteBuffer content = ByteBuffer.allocate(4 * numbers).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < numbers; i++) {
            content.putInt(1_000_000_000 + i);
        }
        return Infer.framed(Infer.responseTo(REQUEST, ByteString.copyFrom(content.flip())));
    }

    private static String text(int numbers) {
        StringBuilder text = new StringBuilder("{\"id\":\"a\",\"model_name\":\"m\",\"outputs\":[{\"name\":\"OUTPUT0\","
                + "\"datatype\":\"INT32\",\"shape\":[" + numbers + "],\"data\":[");
        for (int i = 0; i < numbers; i++) {
            text.append(i == 0 ? "" : ",").append(1_000_000_000 + i);
        }
        return text.append("]}]}").toString();
    }

    private void serve(int numbers) throws Exception {
        byte[] data = response(numbers);
        server.next().head().data(data, 0, data.length).end("0");
    }

    private double used() {
        return stage.proxy().meters().get("isthmus.memory.used").gauge().value();
    }

    private void awaitHeld() {
        await().untilAsserted(() -> assertThat(used()).isBetween(4.0 * NUMBERS, 4.0 * NUMBERS + TEXT));
    }

    private double responseBytes() {
        return stage.proxy()
                .meters()
                .get("isthmus.response.bytes")
                .tag("model", "m")
                .functionCounter()
                .count();
    }

    @Test
    void largeResponse_isWrittenAsItIsRead() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 1));
            serve(NUMBERS);
            awaitHeld();
            Http1Client.Head head = client.head();
            assertThat(head.headers())
                    .containsEntry("transfer-encoding", "chunked")
                    .containsEntry("content-type", "application/json");
            String text = text(NUMBERS);
            assertThat(client.latinChunks().equals(text)).isTrue();
            await().untilAsserted(() -> assertThat(used()).isZero());
            assertThat(responseBytes()).isEqualTo(text.length());
            client.post(PATH, Infer.json("a", 1));
            serve(3);
            assertThat(client.response().text()).isEqualTo(text(3));
        }
    }

    @Test
    void largeResponseOverHttp2_isWrittenAsItIsRead() throws Exception {
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(PATH, Infer.json("a", 1));
            response.reading(false);
            serve(NUMBERS);
            awaitHeld();
            response.reading(true);
            assertThat(response.body().equals(text(NUMBERS))).isTrue();
            await().untilAsserted(() -> assertThat(used()).isZero());
        }
    }

    @Test
    void clientThatGoes_givesAllBack() throws Exception {
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(PATH, Infer.json("a", 1));
            response.reading(false);
            serve(NUMBERS);
            awaitHeld();
            response.cancel();
            await().untilAsserted(() -> assertThat(used()).isZero());
        }
        try (Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 1));
            serve(NUMBERS);
            awaitHeld();
        }
        await().untilAsserted(() -> assertThat(used()).isZero());
    }

    @Test
    void responseThatIsCompressed_isWrittenWhole_unlessItIsTooLargeForThat() throws Exception {
        try (Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 1), "Accept-Encoding: gzip");
            serve(300_000);
            assertThat(client.response().header("content-encoding")).isEqualTo("gzip");
            client.post(PATH, Infer.json("a", 1), "Accept-Encoding: gzip");
            serve(NUMBERS);
            assertThat(client.head().headers()).containsEntry("transfer-encoding", "chunked");
            assertThat(client.latinChunks().equals(text(NUMBERS))).isTrue();
        }
    }
}
