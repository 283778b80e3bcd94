package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressPipelines.AcceptedConnection;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 over reads of chosen sizes, into the buffers that a socket would read into; every inference gets its own
 * body as response.
 */
@SuppressWarnings("deprecation") // channels call it
final class SplitConnection implements AutoCloseable {
    /** Small, so that every split of a request can be tested. */
    static final BodyReadBuffer.ReadSizes SIZES = new BodyReadBuffer.ReadSizes(16, 64, 256, 16);

    /** For each body whether it was contiguous and direct. */
    final List<Boolean> whole = new ArrayList<>();

    final ReservedBytes ahead;
    private final EmbeddedChannel channel;
    private final RecvByteBufAllocator.Handle reads;
    private final Deque<Runnable> responses = new ArrayDeque<>();
    private final boolean later;
    private @Nullable Opened last;

    /** An opened call, and the received parts of its body. */
    private record Opened(Reply reply, BufferCollector body) {}

    /** Whether sinks want contiguous bodies. */
    boolean inOnePiece = true;

    /** Whether sinks accept more of a body. */
    boolean writable = true;

    SplitConnection() {
        this(ByteBufAllocator.DEFAULT, 1 << 20, false);
    }

    /** @param later whether to respond only when nothing is read any more, or on {@link #respond()} */
    SplitConnection(ByteBufAllocator allocator, long mostAhead, boolean later) {
        this.later = later;
        ahead = new ReservedBytes(mostAhead);
        BodyReadBuffer landing = new BodyReadBuffer(SIZES, ahead);
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(100_000),
                100,
                GatewayConfig.Headers.DEFAULT.forwarded(),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        ListenerContext entry = new ListenerContext(this::open, () -> settings);
        channel = new EmbeddedChannel();
        channel.freezeTime();
        channel.config().setAllocator(allocator);
        ConnectionTimer timer = new ConnectionTimer(ConnectionPolicy.NONE, new OpenConnections(), 0);
        new AcceptedConnection(channel, entry, timer, landing).http1(channel.pipeline());
        reads = landing.reads(new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(64, 2048, 65_536)))
                .newHandle();
    }

    private RequestSink open(Call call, Reply reply) {
        BufferCollector body = new BufferCollector(call.allocator());
        last = new Opened(reply, body);
        return new RequestSink() {
            @Override
            public boolean inOnePiece() {
                return inOnePiece;
            }

            @Override
            public boolean isReady() {
                return writable;
            }

            @Override
            public void data(ByteBuf chunk) {
                body.add(chunk);
            }

            @Override
            public void end() {
                ByteBuf taken = body.take();
                whole.add(taken.isDirect() && !(taken instanceof CompositeByteBuf));
                body.add(taken);
                responses.add(() -> reply.only(new ReplyMessage.Inference(
                        new InferMessage.RestMessage(new RestBody(body.take(), RestBody.ALL_JSON)))));
                if (!later) {
                    respond();
                }
            }

            @Override
            public void cancel() {
                body.release();
            }
        };
    }

    /** Responds to the pending requests. */
    void respond() {
        while (!responses.isEmpty()) {
            responses.remove().run();
        }
    }

    /** The last opened call accepts more of its body again. */
    void readMore() {
        writable = true;
        Objects.requireNonNull(last).reply().onReady();
    }

    /** Fails the last opened call. */
    void refuse(OipException refusal) {
        Opened refused = Objects.requireNonNull(last);
        refused.body().release();
        refused.reply().fail(refusal);
    }

    boolean isOpen() {
        return channel.isOpen();
    }

    /** Whether the socket is being read. */
    boolean reading() {
        return channel.config().isAutoRead();
    }

    /** Delivers the bytes in reads of the given sizes; the last size is repeated. */
    SplitConnection receive(byte[] bytes, int... arrivals) {
        int at = 0;
        for (int i = 0; at < bytes.length && isOpen(); i++) {
            int arrived = Math.min(bytes.length, at + arrivals[Math.min(i, arrivals.length - 1)]);
            while (at < arrived && isOpen()) {
                if (!channel.config().isAutoRead()) {
                    respond();
                }
                at += read(bytes, at, arrived);
                // Between two reads, other connections have been served.
                channel.advanceTimeBy(1, TimeUnit.MILLISECONDS);
                channel.runScheduledPendingTasks();
            }
        }
        return this;
    }

    private int read(byte[] bytes, int at, int arrived) {
        reads.reset(channel.config());
        ByteBuf to = reads.allocate(channel.alloc());
        reads.attemptedBytesRead(to.writableBytes());
        int length = Math.min(to.writableBytes(), arrived - at);
        to.writeBytes(bytes, at, length);
        reads.lastBytesRead(length);
        channel.pipeline().fireChannelRead(to);
        reads.readComplete();
        channel.pipeline().fireChannelReadComplete();
        return length;
    }

    /** The bytes sent since the last call. */
    byte[] sent() {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            byte[] copy = new byte[part.readableBytes()];
            part.readBytes(copy);
            sent.writeBytes(copy);
            part.release();
        }
        return sent.toByteArray();
    }

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }
}
