package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TimedEventLoopTest {
    private static final long LONG = TimeUnit.MILLISECONDS.toNanos(120);
    private static final int BUCKETS = TimedEventLoop.bounds().length;

    /** Has no sockets: waits for tasks, measures how long, and reports a minute of work after each wait. */
    private static final class WaitingHandler implements IoHandler {
        private final Semaphore woken = new Semaphore(0);
        private final LongAdder waited = new LongAdder();

        @Override
        public int run(IoHandlerContext context) {
            if (context.canBlock()) {
                long begin = System.nanoTime();
                woken.acquireUninterruptibly();
                waited.add(System.nanoTime() - begin);
            }
            context.reportActiveIoTime(TimeUnit.MINUTES.toNanos(1));
            return 0;
        }

        @Override
        public void wakeup() {
            woken.release();
        }

        @Override
        public IoRegistration register(IoHandle handle) {
            throw new UnsupportedOperationException("no sockets");
        }

        @Override
        public boolean isCompatible(Class<? extends IoHandle> type) {
            return false;
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void turnWithALongTask_isCountedByItsLength(Transport transport) throws Exception {
        EventLoopGroup loops = EventLoops.start(transport);
        try {
            TimedEventLoop loop = (TimedEventLoop) loops.next();
            loop.submit(TimedEventLoopTest::spin).get();

            await().untilAsserted(() -> assertThat(longTurns(loop)).isPositive());
            assertThat(seconds(loop)).isGreaterThanOrEqualTo(LONG / 1e9);
            assertThat(Transport.of(loop)).isEqualTo(transport);
        } finally {
            EventLoops.stop(loops);
        }
    }

    private static long longTurns(TimedEventLoop loop) {
        long[] turns = new long[BUCKETS];
        loop.addTo(turns);
        return turns[BUCKETS - 1];
    }

    private static double seconds(TimedEventLoop loop) {
        return loop.addTo(new long[BUCKETS]);
    }

    private static void spin() {
        long end = System.nanoTime() + LONG;
        while (System.nanoTime() - end < 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    void turn_isWhatTheTransportReports_andTasks_withoutTheWait() throws Exception {
        WaitingHandler handler = new WaitingHandler();
        long start = System.nanoTime();
        EventLoopGroup loops = EventLoops.start(1, executor -> handler);
        TimedEventLoop loop = (TimedEventLoop) loops.next();
        // Each is counted when the loop waits again; both tasks could run in one turn, and the last is never counted.
        loop.submit(TimedEventLoopTest::spin).get();
        await().untilAsserted(() -> assertThat(longTurns(loop)).isPositive());
        loop.submit(() -> {}).get();
        await().untilAsserted(() -> assertThat(longTurns(loop)).isGreaterThanOrEqualTo(2));
        EventLoops.stop(loops);

        double elapsed = (System.nanoTime() - start - handler.waited.sum()) / 1e9;
        long turns = longTurns(loop);
        assertThat(seconds(loop)).isBetween(turns * 60 + LONG / 1e9, turns * 60 + elapsed);
    }
}
