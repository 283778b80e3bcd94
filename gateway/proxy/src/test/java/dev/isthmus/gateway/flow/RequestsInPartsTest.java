package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.proto.ModelInferRequest;
import io.netty.util.internal.PlatformDependent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Large gRPC requests are forwarded to a gRPC server as they arrive: what each end sees, frame by frame. */
class RequestsInPartsTest {
    /** A client's initial stream window at the gateway. */
    private static final int CLIENT_WINDOW = 1 << 20;

    private static final int LARGE = 400_000;
    private static final int FOR_LONG = 8 << 20;

    private RecordingHttp2Peer.Server server;
    private ProxyServer gateway;
    private RecordingHttp2Peer client;
    private @TempDir Path directory;

    @BeforeEach
    void start() throws Exception {
        server = new RecordingHttp2Peer.Server();
        gateway = ProxyServer.start(ConfigLoader.load(config()));
        client = RecordingHttp2Peer.client(gateway.addresses().get(0).getPort());
    }

    private Path config() throws Exception {
        double share = 100.0 * (4 << 20) / PlatformDependent.maxDirectMemory();
        return Files.writeString(
                directory.resolve("isthmus.yaml"),
                String.format(Locale.ROOT, """
                        listeners: [{host: 127.0.0.1, port: 0}]
                        limits: {max_body_size: 16MiB, max_buffered: %.6f%%}
                        upstreams:
                          server: {protocol: grpc, endpoints: ["127.0.0.1:%d"], retry: {retries: 0}}
                          keeping: {protocol: grpc, endpoints: ["127.0.0.1:%2$d"], retry: {max_body: 1MiB}}
                        models:
                          kept: {upstream: keeping}
                          fallen: {upstream: server, fallback: {upstream: keeping}}
                          shadowed: {upstream: server, shadow: [{upstream: keeping}]}
                          limited: {upstream: server, rates: [{bytes_per_second: 100KiB}]}
                        default_upstream: server
                        """, share, server.endpoint().port()));
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        gateway.close();
        server.close();
    }

    private static ModelInferRequest.InferInputTensor.Builder input(String name, String type, long extent) {
        return ModelInferRequest.InferInputTensor.newBuilder()
                .setName(name)
                .setDatatype(type)
                .addShape(extent);
    }

    private static ByteString content(int bytes) {
        byte[] content = new byte[bytes];
        for (int i = 0; i < bytes; i += 7) {
            content[i] = (byte) i;
        }
        return ByteString.copyFrom(content);
    }

    private static ModelInferRequest.Builder request(String model, int bytes) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId("1")
                .addInputs(input("x", "UINT8", bytes))
                .addRawInputContents(content(bytes));
    }

    private static byte[] framed(ModelInferRequest.Builder request) {
        return Infer.framed(request.build());
    }

    private static void awaitReceived(RecordingHttp2Peer.Stream stream, int bytes) {
        await().atMost(Duration.ofSeconds(30)).until(() -> stream.received() >= bytes);
    }

    /** A call half of whose message was sent, and whose first bytes have reached the server. */
    private RecordingHttp2Peer.Stream half(byte[] message) {
        RecordingHttp2Peer.Stream call = client.infer();
        call.data(message, 0, message.length / 2, false);
        return call;
    }

    private RecordingHttp2Peer.Stream begun() throws Exception {
        RecordingHttp2Peer.Stream call = server.call();
        awaitReceived(call, RecordingHttp2Peer.WINDOW);
        assertThat(call.ended()).isFalse();
        return call;
    }

    @Test
    void firstBytes_areAtTheServer_beforeTheClientHasSentTheLast() throws Exception {
        byte[] message = framed(request("m", LARGE));
        RecordingHttp2Peer.Stream stream = half(message);
        RecordingHttp2Peer.Stream call = begun();
        call.open(LARGE);
        awaitReceived(call, message.length / 2);
        stream.data(message, message.length / 2, message.length, true);
        await().atMost(Duration.ofSeconds(30)).until(call::ended);
        assertThat(Arrays.equals(call.content(), message)).isTrue();
        call.respond("1");
        assertThat(stream.status()).isEqualTo("0");
        assertThat(stream.received()).isPositive();
    }

    @Test
    void head_thatComesByteByByte_passes() throws Exception {
        byte[] message = framed(request("m", LARGE));
        RecordingHttp2Peer.Stream stream = client.infer();
        for (int i = 0; i < 60; i++) {
            stream.data(message, i, i + 1, false);
        }
        stream.data(message, 60, message.length, true);
        RecordingHttp2Peer.Stream call = begun();
        call.open(LARGE);
        await().atMost(Duration.ofSeconds(30)).until(call::ended);
        assertThat(Arrays.equals(call.content(), message)).isTrue();
    }

    /** Sends the rest as the gateway's windows allow. */
    private static void sendRest(RecordingHttp2Peer.Stream stream, byte[] message, int from) {
        int sent = from;
        while (sent < message.length) {
            int before = sent;
            await().atMost(Duration.ofSeconds(30)).until(() -> CLIENT_WINDOW + stream.credit.get() > before);
            int allowed = Math.min(message.length, CLIENT_WINDOW + (int) stream.credit.get());
            stream.data(message, sent, allowed, allowed == message.length);
            sent = allowed;
        }
    }

    @Test
    void serverThatDoesNotRead_stopsTheClient_andLittleIsHeld() throws Exception {
        byte[] message = framed(request("m", FOR_LONG));
        RecordingHttp2Peer.Stream stream = client.infer();
        int sent = 0;
        for (int allowed = CLIENT_WINDOW; allowed > sent; allowed = CLIENT_WINDOW + (int) stream.credit.get()) {
            stream.data(message, sent, allowed, false);
            sent = allowed;
            client.ping();
        }
        RecordingHttp2Peer.Stream call = server.call();
        awaitReceived(call, RecordingHttp2Peer.WINDOW);
        assertThat(call.received()).isEqualTo(RecordingHttp2Peer.WINDOW);
        assertThat(sent).isLessThanOrEqualTo(RecordingHttp2Peer.WINDOW + 2 * CLIENT_WINDOW);
        call.open(FOR_LONG);
        sendRest(stream, message, sent);
        await().atMost(Duration.ofSeconds(30)).until(call::ended);
        assertThat(Arrays.equals(call.content(), message)).isTrue();
    }

    @Test
    void clientThatGoesHalfWay_resetsTheServersStream() throws Exception {
        RecordingHttp2Peer.Stream stream = half(framed(request("m", LARGE)));
        RecordingHttp2Peer.Stream call = begun();
        stream.reset();
        call.awaitReset();
    }

    @Test
    void clientThatEndsHalfWay_isRefused_andTheServerSeesNoEnd() throws Exception {
        byte[] message = framed(request("m", LARGE));
        RecordingHttp2Peer.Stream stream = half(message);
        RecordingHttp2Peer.Stream call = begun();
        stream.data(message, 0, 0, true);
        assertThat(stream.status()).isEqualTo("13");
        call.awaitReset();
    }

    @Test
    void contentOfWrongLength_isRefusedHalfWay() throws Exception {
        byte[] message = framed(ModelInferRequest.newBuilder()
                .setModelName("m")
                .addInputs(input("x", "UINT8", LARGE))
                .addInputs(input("y", "UINT8", LARGE))
                .addRawInputContents(content(LARGE))
                .addRawInputContents(content(LARGE - 200_003))
                .addRawInputContents(content(200_000 - 1)));
        RecordingHttp2Peer.Stream stream = half(message);
        RecordingHttp2Peer.Stream call = begun();
        stream.data(message, message.length / 2, message.length, true);
        assertThat(stream.status()).isEqualTo("3");
        assertThat(stream.fields.get("grpc-message"))
                .isEqualTo("input 'y': shape [400000] of UINT8 needs 400000 bytes, got 199997");
        call.awaitReset();
    }

    @Test
    void serverThatFailsHalfWay_failsTheCall() throws Exception {
        RecordingHttp2Peer.Stream stream = half(framed(request("m", LARGE)));
        RecordingHttp2Peer.Stream call = begun();
        call.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "9");
        assertThat(stream.status()).isEqualTo("9");
        call.awaitReset();
    }

    @Test
    void serverThatRespondsHalfWay_isHeard() throws Exception {
        RecordingHttp2Peer.Stream stream = half(framed(request("m", LARGE)));
        RecordingHttp2Peer.Stream call = begun();
        call.respond("1");
        assertThat(stream.status()).isEqualTo("0");
        assertThat(stream.received()).isPositive();
        call.awaitReset();
    }

    @Test
    void serverThatResetsHalfWay_failsTheCall() throws Exception {
        RecordingHttp2Peer.Stream stream = half(framed(request("m", LARGE)));
        begun().reset();
        assertThat(stream.status()).isEqualTo("14");
    }

    /** Why a request is buffered. */
    enum Gathered {
        KEPT_FOR_A_RETRY("kept"),
        FALLBACK("fallen"),
        SHADOW("shadowed"),
        SMALL("m"),
        COMPRESSED("m"),
        BYTES("m"),
        TRAILING_FIELD("m"),
        CONTENTS_TOO_SHORT("m");

        final String model;

        Gathered(String model) {
            this.model = model;
        }

        byte[] message() {
            return switch (this) {
                case KEPT_FOR_A_RETRY, FALLBACK, SHADOW -> framed(RequestsInPartsTest.request(model, LARGE));
                case SMALL -> framed(RequestsInPartsTest.request(model, 60_000));
                case COMPRESSED -> {
                    byte[] message = framed(RequestsInPartsTest.request(model, LARGE));
                    message[0] = 1;
                    yield message;
                }
                case BYTES ->
                    framed(RequestsInPartsTest.request(model, LARGE)
                            .addInputs(input("s", "BYTES", 1))
                            .addRawInputContents(Infer.number(0)));
                case TRAILING_FIELD ->
                    framed(RequestsInPartsTest.request(model, LARGE).addRawInputContents(content(1)));
                case CONTENTS_TOO_SHORT ->
                    framed(RequestsInPartsTest.request(model, LARGE).setRawInputContents(0, content(LARGE - 1)));
            };
        }
    }

    @ParameterizedTest
    @EnumSource
    void otherRequests_areGathered(Gathered why) throws Exception {
        byte[] message = why.message();
        RecordingHttp2Peer.Stream stream =
                client.infer("grpc-encoding", why == Gathered.COMPRESSED ? "gzip" : "identity");
        stream.data(message, 0, message.length - 1, false);
        client.ping();
        stream.reset();
        // The next request uses the same connection, so that nothing can overtake it.
        byte[] next = framed(request(why.model, 10));
        client.infer().data(next, 0, next.length, true);
        RecordingHttp2Peer.Stream call = server.call();
        await().atMost(Duration.ofSeconds(30)).until(call::ended);
        assertThat(Arrays.equals(call.content(), next)).isTrue();
    }

    @Test
    void messageLargerThanARequestMayBe_isRefusedBeforeItComes() throws Exception {
        byte[] message = framed(request("m", (16 << 20) + 1));
        RecordingHttp2Peer.Stream stream = client.infer();
        stream.data(message, 0, 1000, false);
        assertThat(stream.status()).isEqualTo("8");
        assertThat(server.calls).isEmpty();
    }

    @Test
    void messageBeyondTheRateOfBytes_isRefusedBeforeItComes() throws Exception {
        // The first one exceeds any burst, and is admitted.
        byte[] message = framed(request("limited", LARGE));
        half(message);
        begun();
        RecordingHttp2Peer.Stream stream = half(message);
        assertThat(stream.status()).isEqualTo("8");
        assertThat(server.calls).isEmpty();
    }

    @Test
    void messageLargerThanAllMayHold_passes_becauseItIsNotHeld() throws Exception {
        byte[] message = framed(request("m", 12 << 20));
        RecordingHttp2Peer.Stream stream = client.infer();
        stream.data(message, 0, CLIENT_WINDOW, false);
        RecordingHttp2Peer.Stream call = server.call();
        call.open(1 << 30);
        sendRest(stream, message, CLIENT_WINDOW);
        await().atMost(Duration.ofSeconds(60)).until(call::ended);
        assertThat(Arrays.equals(call.content(), message)).isTrue();
    }
}
