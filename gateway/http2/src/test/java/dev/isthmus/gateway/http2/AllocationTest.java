package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A stream allocates little heap: no object per frame, field or write. */
class AllocationTest {
    /** Bytes for both ends of a stream, mostly buffers, which are not pooled here. */
    private static final long MOST_BYTES_A_STREAM = 4_000;

    /** Netty's leak detector, which is enabled in tests, would dominate the measurement. */
    private static final ByteBufAllocator UNTRACKED = new UnpooledByteBufAllocator(true, true);

    private static final ByteBuf MESSAGE = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[21]));

    @Test
    void stream_costsLittleHeap() throws Exception {
        try (Loopback loopback = new Loopback()) {
            int port = loopback.listen(() -> untracked(Http2Connection.server(
                    BothRolesTest.OPTIONS, EchoStreamListener::new, new ConnectionListener() {})));
            BothRolesTest.Watch watch = new BothRolesTest.Watch();
            Http2Connection client = Http2Connection.client(BothRolesTest.OPTIONS, watch);
            loopback.connect(port, untracked(client));
            await().until(() -> watch.ready);
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            long loop = loopback.call(() -> Thread.currentThread().threadId());
            run(loopback, client, 5_000);
            long before = threads.getThreadAllocatedBytes(loop);
            run(loopback, client, 5_000);
            long each = (threads.getThreadAllocatedBytes(loop) - before) / 5_000;
            assertThat(each).isLessThan(MOST_BYTES_A_STREAM);
        }
    }

    private static ChannelInitializer<Channel> untracked(Http2Connection connection) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.config().setAllocator(UNTRACKED);
                channel.pipeline().addLast(connection);
            }
        };
    }

    private static void run(Loopback loopback, Http2Connection client, int streams) throws Exception {
        Chain chain = new Chain(client, streams);
        loopback.run(chain::next);
        chain.done.get(60, TimeUnit.SECONDS);
    }

    /** Sequential requests. */
    private static final class Chain implements StreamListener {
        final CompletableFuture<Boolean> done = new CompletableFuture<>();
        private final Http2Connection client;
        private int left;

        Chain(Http2Connection client, int streams) {
            this.client = client;
            this.left = streams;
        }

        void next() {
            if (left-- == 0) {
                done.complete(true);
                return;
            }
            requireNonNull(client.open(BothRolesTest.HEAD, false, this)).data(MESSAGE.duplicate(), true);
        }

        @Override
        public void headers(Http2Headers headers, boolean end) {
            if (end) {
                next();
            }
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            data.release();
        }

        @Override
        public void closed(StreamEnd end) {
            done.completeExceptionally(new IllegalStateException(end.toString()));
        }
    }
}
