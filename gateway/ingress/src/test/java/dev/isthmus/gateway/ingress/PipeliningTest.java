package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.coding.ExhaustibleAllocator;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressPipelines.AcceptedConnection;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pipelined requests of a client that does not read its responses stay undecoded bytes. */
class PipeliningTest {
    private static final String GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";
    private static final String SILENT =
            "POST /v2/models/silent/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    private static final int MANY = 5000;

    private final Calls calls = new Calls();
    /**
     * Whether tasks are deferred, as while a loop is busy with a read; otherwise they run with each write, scheduled
     * ones included.
     */
    private boolean busy;
    /** The time that one request takes. */
    private long micros;

    private int flushes;
    private final MemoryBudget memory = new MemoryBudget(1 << 30, new SimpleMeterRegistry());
    private final ExhaustibleAllocator allocator = new ExhaustibleAllocator();
    /** Receives the calls in place of {@link #calls}. */
    private @Nullable Service receiver;

    private final EmbeddedChannel channel = new EmbeddedChannel() {
        @Override
        public void runPendingTasks() {
            if (!busy) {
                busy = true;
                super.runPendingTasks();
                busy = false;
            }
        }
    };

    PipeliningTest() {
        channel.freezeTime();
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(16 << 20),
                100,
                HeaderAllowList.of(List.of()),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        Service service = (call, reply) -> {
            channel.advanceTimeBy(micros, TimeUnit.MICROSECONDS);
            return receiver == null ? calls.open(call, reply) : receiver.open(call, reply);
        };
        channel.config().setAllocator(allocator);
        channel.pipeline().addLast(new ChannelOutboundHandlerAdapter() {
            @Override
            public void flush(ChannelHandlerContext ctx) {
                flushes++;
                ctx.flush();
            }
        });
        new AcceptedConnection(
                        channel,
                        new ListenerContext(service, () -> settings, new OpenConnections(), memory),
                        new ConnectionTimer(ConnectionPolicy.NONE, new OpenConnections(), 0),
                        new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, new ReservedBytes(0)))
                .http1(channel.pipeline());
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void receive(String text) {
        channel.writeInbound(Unpooled.directBuffer().writeBytes(text.getBytes(StandardCharsets.US_ASCII)));
    }

    private void takesResponses(boolean writable) {
        channel.unsafe().outboundBuffer().setUserDefinedWritability(1, writable);
        channel.runPendingTasks();
    }

    private int responses() {
        return sent().split("HTTP/1.1 200", -1).length - 1;
    }

    private String sent() {
        StringBuilder sent = new StringBuilder();
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            sent.append(part.toString(StandardCharsets.US_ASCII));
            part.release();
        }
        return sent.toString();
    }

    @Test
    void requests_whoseResponsesAreNotRead_doNotBegin() {
        takesResponses(false);
        receive(GET.repeat(MANY));
        assertThat(calls.opened).isEmpty();
        assertThat(channel.config().isAutoRead()).isFalse();
        takesResponses(true);
        assertThat(responses()).isEqualTo(MANY);
        assertThat(channel.config().isAutoRead()).isTrue();
        receive(GET);
        assertThat(responses()).isOne();
    }

    @Test
    void requests_behindOneWithoutAResponse_areNotDecoded() {
        receive(SILENT + GET.repeat(MANY));
        assertThat(calls.opened).hasSize(1);
        assertThat(channel.config().isAutoRead()).isFalse();
        Http1Handler handler = channel.pipeline().get(Http1Handler.class);
        assertThat(handler.reader().isPaused()).isTrue();
        assertThat(handler.reader().unread()).isEqualTo(MANY * GET.length());
    }

    @Test
    void requests_ofOneRead_leaveTurnsToOthers() {
        ByteBuf read = Unpooled.directBuffer().writeBytes(GET.repeat(MANY).getBytes(StandardCharsets.US_ASCII));
        busy = true;
        channel.pipeline().fireChannelRead(read).fireChannelReadComplete();
        assertThat(responses()).isBetween(1, 300);
        assertThat(channel.config().isAutoRead()).isFalse();
        busy = false;
        channel.runPendingTasks();
        assertThat(responses()).isBetween(MANY - 300, MANY - 1);
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void requests_thatTakeLong_leaveTurnsToOthersSooner() {
        micros = 100;
        ByteBuf read = Unpooled.directBuffer().writeBytes(GET.repeat(100).getBytes(StandardCharsets.US_ASCII));
        busy = true;
        channel.pipeline().fireChannelRead(read).fireChannelReadComplete();
        int received = 0;
        while (received < 100) {
            int now = responses();
            assertThat(now).isBetween(1, 12);
            received += now;
            channel.runScheduledPendingTasks();
        }
    }

    @Test
    void requestsOneAfterTheOther_areNoTurn() {
        busy = true;
        for (int i = 0; i < MANY; i++) {
            receive(GET);
            assertThat(responses()).isOne();
        }
    }

    @Test
    void responses_thatAreReadNowAndThen_areAllThere() {
        receive(GET.repeat(MANY / 2) + GET.substring(0, 7));
        takesResponses(false);
        receive(GET.substring(7) + GET.repeat(MANY / 2 - 1));
        assertThat(responses()).isEqualTo(MANY / 2);
        takesResponses(true);
        assertThat(responses()).isEqualTo(MANY / 2);
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void responses_ofOneReadOrTurn_areFlushedTogether() {
        busy = true;
        ByteBuf read = Unpooled.directBuffer().writeBytes(GET.repeat(MANY).getBytes(StandardCharsets.US_ASCII));
        channel.pipeline().fireChannelRead(read).fireChannelReadComplete();
        assertThat(flushes).isOne();
        int received = responses();
        assertThat(received).isGreaterThan(100);
        busy = false;
        channel.runPendingTasks();
        received += responses();
        assertThat(received).isEqualTo(MANY);
        // Turns of some 250 requests.
        assertThat(flushes).isLessThan(MANY / 100);
    }

    @Test
    void responses_thatAreMoreThanTheSocketTakes_areFlushed() {
        receive(GET.repeat(MANY));
        int before = flushes;
        takesResponses(false);
        takesResponses(true);
        receive(GET.repeat(3));
        assertThat(flushes).isEqualTo(before + 1);
        assertThat(responses()).isEqualTo(MANY + 3);
    }

    @Test
    void response_thatClosesTheConnection_isFlushedBehindTheOthers() {
        receive(GET.repeat(3) + "GET /v2/health/live HTTP/1.0\r\nHost: a\r\n\r\n" + GET);
        assertThat(responses()).isEqualTo(4);
    }

    /** As with compressed JSON. */
    private static byte[] compressible(int length) {
        byte[] bytes = new byte[length];
        new Random(1).nextBytes(bytes);
        for (int i = 0; i < length; i++) {
            bytes[i] = i % 64 == 0 ? bytes[i] : 0;
        }
        return bytes;
    }

    private ByteBuf gzipped(byte[] body) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(body);
        }
        String head = "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: "
                + packed.size() + "\r\n\r\n";
        return Unpooled.directBuffer()
                .writeBytes(head.getBytes(StandardCharsets.US_ASCII))
                .writeBytes(packed.toByteArray());
    }

    @Test
    void compressedBody_thatBecomesMuch_isInflatedInTurns() throws Exception {
        byte[] body = compressible(12 << 20);
        busy = true;
        channel.pipeline().fireChannelRead(gzipped(body)).fireChannelReadComplete();
        assertThat(calls.bytes).isBetween(1L << 20, 5L << 20);
        assertThat(responses()).isZero();
        int turns = 0;
        while (calls.bytes < body.length) {
            long before = calls.bytes;
            channel.runScheduledPendingTasks();
            assertThat(calls.bytes - before).isLessThan(body.length);
            turns++;
        }
        assertThat(turns).isPositive();
        assertThat(responses()).isOne();
        receive(GET);
        assertThat(responses()).isOne();
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void clientThatGoes_whileItsBodyIsInflated_leavesNothing() throws Exception {
        busy = true;
        channel.pipeline().fireChannelRead(gzipped(compressible(12 << 20))).fireChannelReadComplete();
        channel.pipeline().close();
        long before = calls.bytes;
        busy = false;
        channel.runPendingTasks();
        assertThat(calls.bytes).isEqualTo(before);
        assertThat(calls.cancelled).hasSize(1);
    }

    @Test
    void compressedBody_thatFindsNoMemoryInALaterTurn_isRefused() throws Exception {
        busy = true;
        channel.pipeline().fireChannelRead(gzipped(compressible(12 << 20))).fireChannelReadComplete();
        allocator.exhaust();
        channel.runScheduledPendingTasks();
        assertThat(sent()).startsWith("HTTP/1.1 503 ").contains("out of memory for the request");
        assertThat(calls.cancelled).hasSize(1);
    }

    @Test
    void compressedBody_whoseEndInALaterTurnMeetsAFault_isAnswered() throws Exception {
        receiver = (call, reply) -> new RequestSink() {
            @Override
            public void data(ByteBuf chunk) {
                chunk.release();
            }

            @Override
            public void end() {
                throw new IllegalStateException("a fault");
            }

            @Override
            public void cancel() {}
        };
        busy = true;
        channel.pipeline().fireChannelRead(gzipped(compressible(12 << 20))).fireChannelReadComplete();
        for (int i = 0; i < 20; i++) {
            channel.runScheduledPendingTasks();
        }
        assertThat(sent()).startsWith("HTTP/1.1 500 ");
    }

    /** What answers a request, a server's connection for instance, has no part in the requests behind it. */
    @Test
    void requestThatFails_behindAnotherOne_isRespondedTo() {
        List<Reply> replies = new ArrayList<>();
        receiver = (call, reply) -> {
            if (!replies.isEmpty()) {
                throw new IllegalStateException("a fault");
            }
            replies.add(reply);
            return RequestSink.ENDED;
        };
        receive(GET + GET);
        replies.getFirst().only(new ReplyMessage.Live(true));
        assertThat(sent()).startsWith("HTTP/1.1 200 ").contains("HTTP/1.1 500 ");
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void requests_refusedForMemory_getTheirResponses() {
        memory.limit(100, Long.MAX_VALUE);
        memory.reserve().request(100);
        receive(GET + GET);
        assertThat(sent().split("HTTP/1.1 503 ", -1)).hasSize(3);
        channel.checkException();
        assertThat(channel.isOpen()).isTrue();
    }
}
