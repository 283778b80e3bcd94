package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2CodecUtil;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How responses become frames and frames become writes, by count. */
class Http2WritesTest {
    private static final int STREAMS = 100;
    private static final int LARGE = 1 << 20;
    private static final int FRAME = 16 * 1024;
    private static final int WINDOW = 64 << 20;

    private final List<Reply> waiting = new ArrayList<>();
    private final ListenerContext entry = new ListenerContext(
            this::open,
            () -> new IngressSettings(
                    BodyLimits.of(1 << 20),
                    200,
                    GatewayConfig.Headers.DEFAULT.forwarded(),
                    5,
                    StreamMessageForm.TRITON,
                    IngressSettings.HealthResponses.DEFAULT,
                    false,
                    -1,
                    AbusePolicy.NONE,
                    ConnectionPolicy.NONE));

    /** Keeps each call until the test responds to it. */
    private RequestSink open(Call call, Reply reply) {
        return new RequestSink() {
            @Override
            public void data(ByteBuf chunk) {
                chunk.release();
            }

            @Override
            public void end() {
                waiting.add(reply);
            }

            @Override
            public void cancel() {
                waiting.remove(reply);
            }
        };
    }

    private void respondToAll(int bytes) {
        for (Reply reply : waiting) {
            reply.only(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(
                    Unpooled.directBuffer(bytes).writeZero(bytes))));
        }
        waiting.clear();
    }

    private static EmbeddedHttp2Client client(ListenerContext entry, int largestFrame) {
        EmbeddedHttp2Client client = new EmbeddedHttp2Client(
                entry,
                Http2CodecUtil.SETTINGS_INITIAL_WINDOW_SIZE,
                WINDOW,
                Http2CodecUtil.SETTINGS_MAX_FRAME_SIZE,
                largestFrame);
        client.openWindow(WINDOW);
        return client;
    }

    private void ask(EmbeddedHttp2Client client, int streams) {
        List<ByteBuf> calls = new ArrayList<>();
        for (int i = 0; i < streams; i++) {
            calls.add(EmbeddedHttp2Client.call(2 * i + 1, "ModelInfer", new byte[] {10, 1, 'm'}));
        }
        client.receive(Unpooled.wrappedBuffer(calls.toArray(ByteBuf[]::new)));
        client.frames();
        client.takeFlushes();
    }

    @Test
    void responsesOfOneTurn_areOneFlush() {
        try (EmbeddedHttp2Client client = client(entry, FRAME)) {
            ask(client, STREAMS);
            client.turn(() -> respondToAll(16));
            assertThat(client.takeFlushes()).isEqualTo(1);
            assertThat(client.frames().stream().filter(RawFrame::endsStream)).hasSize(STREAMS);
        }
    }

    @Test
    void responsesOfOneRead_areOneFlush() {
        ListenerContext atOnce = new ListenerContext(
                (call, reply) -> {
                    RequestSink kept = open(call, reply);
                    return new RequestSink() {
                        @Override
                        public void data(ByteBuf chunk) {
                            kept.data(chunk);
                        }

                        @Override
                        public void end() {
                            kept.end();
                            respondToAll(16);
                        }

                        @Override
                        public void cancel() {
                            kept.cancel();
                        }
                    };
                },
                entry.settings());
        try (EmbeddedHttp2Client client = client(atOnce, FRAME)) {
            client.takeFlushes();
            List<ByteBuf> calls = new ArrayList<>();
            for (int i = 0; i < STREAMS; i++) {
                calls.add(EmbeddedHttp2Client.call(2 * i + 1, "ModelInfer", new byte[] {10, 1, 'm'}));
            }
            client.receive(Unpooled.wrappedBuffer(calls.toArray(ByteBuf[]::new)));
            assertThat(client.takeFlushes()).isEqualTo(1);
            assertThat(client.frames().stream().filter(RawFrame::endsStream)).hasSize(STREAMS);
        }
    }

    @Test
    void responsesOfTwoStreams_goOutInWholeFrames() {
        try (EmbeddedHttp2Client client = client(entry, FRAME)) {
            ask(client, 2);
            client.turn(() -> respondToAll(LARGE));
            List<RawFrame> data =
                    client.frames().stream().filter(RawFrame::isData).toList();
            assertThat(data.stream().mapToInt(RawFrame::length).sum()).isEqualTo(2 * (LARGE + 5));
            assertThat(data).allMatch(frame -> frame.length() <= FRAME);
            assertThat(data).hasSizeLessThanOrEqualTo(2 * (LARGE / FRAME + 2));
        }
    }

    @Test
    void responsesOfTwoStreams_takeTurns() {
        try (EmbeddedHttp2Client client = client(entry, FRAME)) {
            ask(client, 2);
            client.turn(() -> respondToAll(LARGE));
            List<Integer> streams = client.frames().stream()
                    .filter(RawFrame::isData)
                    .map(RawFrame::streamId)
                    .toList();
            // Each one has sent a part long before the other is complete.
            assertThat(streams.subList(0, LARGE / FRAME)).contains(1, 3);
        }
    }

    @Test
    void response_toAClientThatTakesLargerFrames_isPutIntoFewer() {
        try (EmbeddedHttp2Client client = client(entry, 1 << 20)) {
            ask(client, 1);
            client.turn(() -> respondToAll(LARGE));
            List<RawFrame> data =
                    client.frames().stream().filter(RawFrame::isData).toList();
            assertThat(data.stream().mapToInt(RawFrame::length).sum()).isEqualTo(LARGE + 5);
            assertThat(data).hasSizeLessThanOrEqualTo(LARGE / FRAME / 4);
        }
    }
}
