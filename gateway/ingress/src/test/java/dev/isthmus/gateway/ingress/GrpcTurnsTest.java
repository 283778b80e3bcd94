package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.coding.ExhaustibleAllocator;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.http2.RawFrames;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.proto.ModelInferRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Messages of gRPC requests are read in turns, between which the loop serves its other connections. */
class GrpcTurnsTest {
    private static final int MANY = 5_000;
    private static final int HEADERS = 1;
    /** Parts of a turn, of 10 microseconds each. */
    private static final int MOST = 32;

    /** Messages that the call received, as numbers, and the length of the last one. */
    private final List<Integer> messages = new ArrayList<>();

    private int lastLength;
    private int ended;
    private int cancelled;
    /** The number of messages after which the call accepts no more. */
    private int accepted = Integer.MAX_VALUE;

    /** Whether the end of a request meets a fault. */
    private boolean broken;

    private @Nullable Reply reply;

    /** Whether the loop runs no tasks: until {@link #nextTurn}. */
    private boolean busy = true;

    private final EmbeddedChannel channel = new EmbeddedChannel() {
        @Override
        public void runPendingTasks() {
            if (!busy) {
                super.runPendingTasks();
            }
        }
    };

    GrpcTurnsTest() {
        channel.freezeTime();
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(64 << 20),
                100,
                HeaderAllowList.of(List.of()),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        channel.pipeline().addLast(new IngressPipelines(new ListenerContext(this::open, () -> settings)));
        receive(RawFrames.preface(), RawFrames.settings());
    }

    @AfterEach
    void close() {
        busy = false;
        channel.finishAndReleaseAll();
    }

    private RequestSink open(Call call, Reply opened) {
        reply = opened;
        return new RequestSink() {
            @Override
            public void data(ByteBuf chunk) {
                lastLength = chunk.readableBytes();
                messages.add(lastLength == 4 ? chunk.readInt() : -1);
                chunk.release();
                channel.advanceTimeBy(10, TimeUnit.MICROSECONDS);
            }

            @Override
            public boolean isReady() {
                return messages.size() < accepted;
            }

            @Override
            public void end() {
                ended++;
                if (broken) {
                    throw new IllegalStateException("a fault");
                }
            }

            @Override
            public void cancel() {
                cancelled++;
            }
        };
    }

    private void receive(ByteBuf... frames) {
        for (ByteBuf frame : frames) {
            ByteBuf read = channel.alloc().directBuffer().writeBytes(frame);
            frame.release();
            channel.pipeline().fireChannelRead(read).fireChannelReadComplete();
        }
        channel.checkException();
    }

    private void nextTurn() {
        busy = false;
        channel.runPendingTasks();
        busy = true;
        channel.checkException();
    }

    private static ByteBuf numbers(int count) {
        ByteBuf all = Unpooled.buffer();
        for (int i = 0; i < count; i++) {
            all.writeByte(0).writeInt(4).writeInt(i);
        }
        return all;
    }

    private void assertInOrder(int count) {
        assertThat(messages).hasSize(count);
        for (int i = 0; i < count; i++) {
            assertThat(messages.get(i)).isEqualTo(i);
        }
    }

    @Test
    void messagesOfOneFrame_areReadInTurns_inOrder() {
        receive(RawFrames.call(1, "ModelStreamInfer"), RawFrames.data(1, numbers(MANY), true));
        assertThat(messages.size()).isBetween(1, MOST);
        while (messages.size() < MANY) {
            assertThat(ended).isZero();
            int before = messages.size();
            nextTurn();
            assertThat(messages.size() - before).isBetween(1, MOST);
        }
        assertInOrder(MANY);
        assertThat(ended).isOne();
    }

    @Test
    void otherStreams_areServedBetweenTheTurnsOfOne() {
        receive(
                RawFrames.call(1, "ModelStreamInfer"),
                RawFrames.data(1, numbers(MANY), true),
                EmbeddedHttp2Client.call(3, "ServerLive", new byte[0]));
        assertThat(ended).isZero();
        nextTurn();
        nextTurn();
        // ServerLive has ended, the stream has not.
        assertThat(ended).isOne();
        assertThat(messages.size()).isLessThan(MANY);
    }

    @Test
    void messages_waitUntilTheCallIsReady() {
        accepted = 16;
        receive(RawFrames.call(1, "ModelStreamInfer"), RawFrames.data(1, numbers(50), true));
        nextTurn();
        assertInOrder(16);
        assertThat(ended).isZero();
        accepted = 20;
        Objects.requireNonNull(reply).onReady();
        assertInOrder(20);
        accepted = 50;
        Objects.requireNonNull(reply).onReady();
        nextTurn();
        assertInOrder(50);
        accepted = 51;
        Objects.requireNonNull(reply).onReady();
        assertThat(ended).isOne();
    }

    @Test
    void endInsideAMessage_whichWaited_failsTheCall() {
        accepted = 1;
        receive(
                RawFrames.call(1, "ModelStreamInfer"),
                RawFrames.data(1, numbers(2).writeByte(0), true));
        assertThat(cancelled).isZero();
        accepted = 9;
        Objects.requireNonNull(reply).onReady();
        assertInOrder(2);
        assertThat(cancelled).isOne();
        assertThat(ended).isZero();
    }

    /** An inference with a tensor that is as compressible as JSON. */
    private static byte[] inference(int length) {
        byte[] bytes = new byte[length];
        new Random(1).nextBytes(bytes);
        for (int i = 0; i < length; i++) {
            bytes[i] = i % 64 == 0 ? bytes[i] : 0;
        }
        return ModelInferRequest.newBuilder()
                .setModelName("m")
                .addRawInputContents(ByteString.copyFrom(bytes))
                .build()
                .toByteArray();
    }

    private static ByteBuf gzipped(byte[] message) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(message);
        }
        return Unpooled.buffer().writeByte(1).writeInt(packed.size()).writeBytes(packed.toByteArray());
    }

    /** DATA frames of the size that the gateway accepts. */
    private static ByteBuf frames(ByteBuf message) {
        ByteBuf all = Unpooled.buffer();
        while (message.isReadable()) {
            ByteBuf part = message.readRetainedSlice(Math.min(message.readableBytes(), 100_000));
            ByteBuf frame = RawFrames.data(1, part, !message.isReadable());
            all.writeBytes(frame);
            frame.release();
        }
        message.release();
        return all;
    }

    @Test
    void compressedMessage_isInflatedInTurns_betweenWhichOtherStreamsAreServed() throws Exception {
        receive(
                RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"),
                frames(gzipped(inference(12 << 20))),
                EmbeddedHttp2Client.call(3, "ServerLive", new byte[0]));
        assertThat(messages).isEmpty();
        assertThat(channel.config().isAutoRead()).isFalse();
        nextTurn();
        // ServerLive was received between two turns.
        assertThat(messages).hasSize(1);
        assertThat(lastLength).isZero();
        nextTurn();
        assertThat(messages).hasSize(2);
        assertThat(lastLength).isGreaterThan(12 << 20);
        assertThat(ended).isEqualTo(2);
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void compressedMessages_ofAStream_areInflatedInTurns() throws Exception {
        receive(RawFrames.call(1, "ModelStreamInfer", "grpc-encoding", "gzip"));
        ByteBuf three = Unpooled.buffer();
        for (int i = 0; i < 3; i++) {
            three.writeBytes(gzipped(new byte[1 << 20]));
        }
        receive(frames(three));
        while (ended == 0) {
            nextTurn();
        }
        assertThat(messages).containsExactly(-1, -1, -1);
    }

    @Test
    void callThatIsCancelled_whileItsMessageIsInflated_leavesNothing() throws Exception {
        receive(
                RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"),
                frames(gzipped(inference(12 << 20))),
                RawFrames.frame(3, 0, 1, Unpooled.buffer().writeInt(8)));
        for (int i = 0; i < 20; i++) {
            nextTurn();
        }
        assertThat(messages).isEmpty();
        assertThat(ended).isZero();
    }

    @Test
    void clientThatGoes_whileItsMessageIsInflated_leavesNothing() throws Exception {
        receive(RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"), frames(gzipped(inference(12 << 20))));
        channel.pipeline().close();
        nextTurn();
        assertThat(messages).isEmpty();
    }

    @Test
    void messageThatIsMalformedLater_failsTheCall() throws Exception {
        ByteBuf message = gzipped(inference(12 << 20));
        message.setZero(message.writerIndex() - 8, 8);
        receive(RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"), frames(message));
        for (int i = 0; i < 10; i++) {
            nextTurn();
        }
        assertThat(messages).isEmpty();
        assertThat(ended).isZero();
        assertThat(RawFrames.frames(RawFrames.written(channel))).anyMatch(frame -> frame.streamId() == 1);
    }

    @Test
    void messageThatFindsNoMemoryInALaterTurn_failsTheCall() throws Exception {
        ExhaustibleAllocator allocator = new ExhaustibleAllocator();
        channel.config().setAllocator(allocator);
        receive(RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"), frames(gzipped(inference(12 << 20))));
        allocator.exhaust();
        nextTurn();
        assertThat(messages).isEmpty();
        assertThat(RawFrames.frames(RawFrames.written(channel))).anyMatch(frame -> frame.type() == HEADERS);
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void messageWhoseEndInALaterTurnMeetsAFault_getsAStatus() throws Exception {
        broken = true;
        receive(RawFrames.call(1, "ModelInfer", "grpc-encoding", "gzip"), frames(gzipped(inference(12 << 20))));
        while (ended == 0) {
            nextTurn();
        }
        assertThat(RawFrames.frames(RawFrames.written(channel))).anyMatch(frame -> frame.type() == HEADERS);
    }
}
