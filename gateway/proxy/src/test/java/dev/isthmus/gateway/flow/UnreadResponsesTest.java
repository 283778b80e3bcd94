package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** How much servers may send of responses whose clients do not read. */
class UnreadResponsesTest {
    /** The window of a stream at a server, for clients that do not read, except the first two. */
    private static final int WINDOW = 1 << 20;

    private static final int SMALL_WINDOW = 64 << 10;
    private static final int LARGE = 16 << 20;
    private static final int MANY = 24;
    private static final ModelInferRequest REQUEST = Infer.request("m", "a", 1);

    private static byte[] framed(byte[] message) {
        return ByteBuffer.allocate(message.length + 5)
                .put((byte) 0)
                .putInt(message.length)
                .put(message)
                .array();
    }

    private static Http2Client.Response ask(Http2Client client) {
        return client.post(
                "/" + FakeGrpcServer.SERVICE + "/ModelInfer",
                framed(REQUEST.toByteArray()),
                "content-type",
                "application/grpc",
                "te",
                "trailers");
    }

    /** Waits until the number has been stable for a while. */
    private static int settled(AtomicInteger number) {
        AtomicInteger before = new AtomicInteger(-1);
        await().pollInterval(Duration.ofMillis(300))
                .atMost(Duration.ofSeconds(30))
                .until(() -> number.get() > 0 && before.getAndSet(number.get()) == number.get());
        return number.get();
    }

    @Test
    void clientsThatDoNotRead_haveSmallWindows_butForTheFirstFew() throws Exception {
        byte[] data = framed(
                Infer.responseTo(REQUEST, ByteString.copyFrom(new byte[LARGE])).toByteArray());
        try (PartsServer server = new PartsServer();
                Stage stage = Stage.taking(
                        2 * LARGE,
                        Map.of(
                                "server",
                                Stage.upstream(
                                        UpstreamProtocol.GRPC,
                                        server.endpoint(),
                                        ServerDialect.MLSERVER,
                                        BinaryTensorData.FALSE,
                                        false)),
                        Map.of("m", ModelConfig.of("server")));
                Http2Client client = new Http2Client(stage.port());
                Http2Client other = new Http2Client(stage.port())) {
            AtomicInteger sent = new AtomicInteger();
            List<Http2Client.Response> unread = new ArrayList<>();
            for (int i = 0; i < MANY; i++) {
                Http2Client.Response response = ask(client);
                response.reading(false);
                unread.add(response);
                server.next().head().data(data, 0, data.length, sent);
            }
            // The client's own window, and what is queued for it.
            assertThat(settled(sent)).isLessThan(2 * 2 * WINDOW + (MANY - 2) * 4 * SMALL_WINDOW);
            Http2Client.Response reads = ask(other);
            server.next().head().data(data, 0, data.length).end("0");
            assertThat(reads.trailers().get("grpc-status")).hasToString("0");
            unread.forEach(Http2Client.Response::cancel);
        }
    }
}
