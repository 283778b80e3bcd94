package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.testing.FailingAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrpcWebTransportTest {
    private final OipException failure = new OipException(ErrorCode.UNAVAILABLE, "gone");

    private final Written written = new Written();
    private final GrpcWebTransport transport = new GrpcWebTransport(written, new EmbeddedChannel());

    /** Records what is written. */
    private static final class Written implements ResponseWriter {
        private final List<String> events = new ArrayList<>();

        @Override
        public void respond(RestResponse response) {
            events.add("respond " + response.headers().get("grpc-status"));
            response.body().release();
        }

        @Override
        public void begin(RestResponse head) {
            events.add("begin " + head.headers().get("content-type"));
        }

        @Override
        public void abort() {
            events.add("abort");
        }

        @Override
        public void part(ByteBuf part) {
            boolean trailers = part.getByte(0) == (byte) 0x80;
            events.add(trailers ? part.toString(5, part.readableBytes() - 5, StandardCharsets.US_ASCII) : "part");
            part.release();
        }

        @Override
        public void endBody() {
            events.add("end");
        }

        @Override
        public long queued() {
            return 0;
        }

        @Override
        public boolean isWritable() {
            return true;
        }

        @Override
        public void resumeRequest() {
            events.add("resume");
        }
    }

    private void send(int... bytes) {
        ByteBuf part = Unpooled.buffer();
        for (int each : bytes) {
            part.writeByte(each);
        }
        transport.send(part);
    }

    @Test
    void failure_beforeAnyMessage_isInTheHeaders() {
        transport.fail(failure, false, Map.of());
        assertThat(written.events).containsExactly("respond 14");
    }

    @Test
    void failure_afterWholeMessages_isInTheLastFrame() {
        transport.head(null, null, Map.of());
        send(0, 0, 0, 0, 0);
        send(0, 0, 0, 0, 2, 1);
        send(2);
        transport.fail(failure, true, Map.of());
        assertThat(written.events)
                .containsExactly(
                        "begin application/grpc-web+proto",
                        "part",
                        "part",
                        "part",
                        "grpc-status: 14\r\ngrpc-message: gone\r\n",
                        "end");
    }

    @Test
    void failure_withinAMessage_abortsTheResponse() {
        transport.head(null, null, Map.of());
        send(0, 0, 0, 0, 2, 1);
        transport.fail(failure, true, Map.of());
        // The trailers would be read as the rest of the message.
        assertThat(written.events).containsExactly("begin application/grpc-web+proto", "part", "abort");
    }

    @Test
    void success_endsWithTrailers_thatTheUpstreamReturned() {
        transport.head(null, null, Map.of());
        send(0, 0, 0, 0, 0);
        transport.complete(true, Map.of("x-a", "b"));
        assertThat(written.events)
                .containsExactly("begin application/grpc-web+proto", "part", "x-a: b\r\ngrpc-status: 0\r\n", "end");
    }

    /** Otherwise the client would wait for the end. */
    @Test
    void success_withoutMemoryForItsTrailers_abortsTheResponse() {
        EmbeddedChannel channel = new EmbeddedChannel();
        FailingAllocator memory = new FailingAllocator();
        channel.config().setAllocator(memory);
        GrpcWebTransport exhausted = new GrpcWebTransport(written, channel);
        exhausted.head(null, null, Map.of());
        exhausted.send(Unpooled.buffer().writeZero(5));
        memory.failAfter(0);
        exhausted.complete(true, Map.of());
        assertThat(written.events).containsExactly("begin application/grpc-web+proto", "part", "abort");
    }

    @Test
    void success_withoutMessages_isInTheHeaders() {
        transport.complete(false, Map.of());
        assertThat(written.events).containsExactly("respond 0");
    }
}
