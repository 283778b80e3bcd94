package dev.isthmus.gateway.upstream.grpc;

import static dev.isthmus.gateway.settings.TestConfigs.loopback;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http2.RawHttp2Connection;
import dev.isthmus.gateway.http2.RawHttp2Server;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.ConnectionRules;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Large responses to a reply that accepts parts. */
class ResponseInPartsTest {
    private static final int LENGTH = 300_000;
    private static final int PREFIX = 5;

    private final GrpcUpstreamCalls calls = new GrpcUpstreamCalls();

    @AfterEach
    void nothingIsHeld() {
        calls.close();
    }

    /** Counts the bytes it receives. */
    private static final class Parts implements Reply {
        final CompletableFuture<Subscription> started = new CompletableFuture<>();
        final CompletableFuture<String> end = new CompletableFuture<>();
        final AtomicLong bytes = new AtomicLong();
        volatile boolean writable = true;

        @Override
        public boolean acceptsParts(Wire wire, long length) {
            return true;
        }

        @Override
        public boolean isReady() {
            return writable;
        }

        @Override
        public void message(ReplyMessage response) {
            ReplyMessage.Part part = (ReplyMessage.Part) response;
            assertThat(part.length()).isEqualTo(LENGTH);
            bytes.addAndGet(part.bytes().readableBytes());
            part.release();
        }

        @Override
        public void complete() {
            end.complete("");
        }

        @Override
        public void fail(OipException failure) {
            end.complete(failure.message());
        }

        String end() throws Exception {
            return end.get(30, TimeUnit.SECONDS);
        }
    }

    private Parts infer(RawHttp2Server server, Call call, boolean writable) {
        GrpcUpstream upstream = calls.to(loopback(server.port()), ConnectionRules.of(GrpcUpstreamCalls.LONG), LENGTH);
        Parts parts = new Parts();
        parts.writable = writable;
        calls.bench.loop().execute(() -> {
            InferMessage request =
                    new InferMessage.ProtobufMessage(Unpooled.buffer(1).writeByte(0));
            parts.started.complete(
                    upstream.send(call, new UpstreamRequest.InferenceRequest(ModelRef.of("simple"), request), parts));
        });
        return parts;
    }

    /** The first bytes of the data. */
    private static void begin(RawHttp2Connection peer, int stream, int bytes) throws IOException {
        peer.head(stream);
        byte[] data = ByteBuffer.allocate(bytes).put((byte) 0).putInt(LENGTH).array();
        peer.send(Http2FrameTypes.DATA, 0, stream, data);
    }

    private static void rest(RawHttp2Connection peer, int stream, int begun) throws IOException {
        peer.send(Http2FrameTypes.DATA, 0, stream, new byte[LENGTH + PREFIX - begun]);
        peer.trailers(stream);
    }

    @Test
    void response_thatComesInParts_isGivenInParts() throws Exception {
        CompletableFuture<Boolean> go = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            begin(peer, stream, 1000);
            go.join();
            rest(peer, stream, 1000);
        })) {
            Parts parts = infer(server, calls.bench.call(), true);
            await().until(() -> parts.bytes.get() == 1000 - PREFIX);
            go.complete(true);
            assertThat(parts.end()).isEmpty();
            assertThat(parts.bytes).hasValue(LENGTH);
        }
    }

    @Test
    void prefix_withoutAnyByte_isNoPart() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            begin(peer, stream, PREFIX);
            peer.words(Http2FrameTypes.RST_STREAM, stream, (int) Http2Error.CANCEL.code());
        })) {
            Parts parts = infer(server, calls.bench.call(), true);
            assertThat(parts.end()).isEqualTo("upstream 'triton' closed the connection");
            assertThat(parts.bytes).hasValue(0);
        }
    }

    @Test
    void reply_thatIsNotWritable_isGivenNothing_andTheRestWhenItIs() throws Exception {
        CompletableFuture<Boolean> sent = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            begin(peer, stream, 1000);
            rest(peer, stream, 1000);
            peer.send(Http2FrameTypes.PING, 0, 0, new byte[8]);
            peer.await(Http2FrameTypes.PING);
            sent.complete(true);
        })) {
            Parts parts = infer(server, calls.bench.call(), false);
            sent.get(30, TimeUnit.SECONDS);
            assertThat(parts.bytes).hasValue(0);
            assertThat(parts.end).isNotDone();
            resume(parts);
            assertThat(parts.end()).isEmpty();
            assertThat(parts.bytes).hasValue(LENGTH);
        }
    }

    private void resume(Parts parts) throws Exception {
        parts.writable = true;
        Subscription started = parts.started.get(30, TimeUnit.SECONDS);
        calls.bench.loop().execute(started::onReady);
    }

    @Test
    void deadline_thatPassesWhenTheServerIsDone_isNotTheResponses() throws Exception {
        CompletableFuture<Boolean> sent = new CompletableFuture<>();
        try (var server = RawHttp2Server.responding((peer, stream) -> {
            begin(peer, stream, 1000);
            rest(peer, stream, 1000);
            sent.complete(true);
        })) {
            Duration time = Duration.ofSeconds(4);
            Parts parts = infer(server, calls.bench.callWithin(time), false);
            sent.get(30, TimeUnit.SECONDS);
            calls.bench
                    .loop()
                    .schedule(() -> {}, time.toMillis(), TimeUnit.MILLISECONDS)
                    .get();
            resume(parts);
            assertThat(parts.end()).isEmpty();
        }
    }

    @Test
    void deadline_thatPassesBefore_endsTheCall() throws Exception {
        try (var server = RawHttp2Server.responding((peer, stream) -> begin(peer, stream, 1000))) {
            Parts parts = infer(server, calls.bench.callWithin(Duration.ofMillis(300)), false);
            assertThat(parts.end()).contains("did not respond within");
            assertThat(parts.bytes).hasValue(0);
        }
    }
}
