package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.net.Transport;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** One event loop and one allocator that tracks its buffers; closing fails if one is still held. */
public final class UpstreamBench implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final MultiThreadIoEventLoopGroup group;
    private final EventLoop loop;
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);

    public UpstreamBench() {
        this(Transport.best());
    }

    public UpstreamBench(Transport transport) {
        group = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        loop = group.next();
    }

    public EventLoop loop() {
        return loop;
    }

    public UnpooledByteBufAllocator allocator() {
        return allocator;
    }

    /** A call without deadline and headers. */
    public Call call() {
        return call(Map.of());
    }

    public Call call(Map<String, String> headers) {
        return new Call(new Operation.ServerReady(), Call.NO_DEADLINE, headers, loop, allocator);
    }

    public Call callWithin(Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        return new Call(new Operation.ServerReady(), deadline, Map.of(), loop, allocator);
    }

    /** Starts a call on the loop. */
    public RecordedReply send(Function<RecordedReply, Subscription> start) {
        RecordedReply reply = new RecordedReply(loop);
        loop.execute(() -> reply.cancellation(start.apply(reply)));
        return reply;
    }

    /** Waits until the loop has run all tasks submitted so far. */
    public void settle() throws Exception {
        loop.submit(() -> {}).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    /** Waits until the loop has polled its sockets again, and has run the tasks that were due then. */
    public void settleAfterPoll() throws Exception {
        loop.submit(() -> loop.schedule(() -> {}, 1, TimeUnit.MILLISECONDS))
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    public void awaitNothingHeld() {
        await().atMost(PATIENCE).untilAsserted(() -> {
            assertThat(allocator.metric().usedDirectMemory()).isZero();
            assertThat(allocator.metric().usedHeapMemory()).isZero();
        });
    }

    @Override
    public void close() {
        try {
            awaitNothingHeld();
        } finally {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
