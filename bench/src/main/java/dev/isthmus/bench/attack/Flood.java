package dev.isthmus.bench.attack;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;

/**
 * HTTP/2 frames without end on one connection, which the gateway must close.
 *
 * @param burst the frames of the turn with this number, from 0 on
 * @param turns at most so many
 * @param read whether the attacker reads
 */
record Flood(String name, int turns, boolean read, IntFunction<byte[]> burst) implements Attack {
    private static final long PATIENCE_MILLIS = 5_000;

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        long start = System.nanoTime();
        try (Http2 wire = new Http2(target.http2Port())) {
            int turn = 0;
            boolean taken = true;
            for (; turn < turns && taken && !wire.wentAway(); turn++) {
                taken = read ? wire.write(burst.apply(turn), PATIENCE_MILLIS) : unread(wire, burst.apply(turn));
            }
            wire.await(wire::wentAway, 3_000);
            AttackResult.Counts counts = new AttackResult.Counts();
            wire.count(counts);
            String how = counts.seen(true).notes();
            return new AttackResult(
                    wire.wentAway(),
                    "after " + turn + " turns and " + (System.nanoTime() - start) / 1_000_000 + " ms: " + how);
        }
    }

    /** Writes without reading, until the peer takes no more for a while. */
    private static boolean unread(NonBlockingConnection wire, byte[] bytes) throws InterruptedException {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000;
        while (out.hasRemaining() && wire.isOpen() && System.nanoTime() < end) {
            if (!wire.offer(out)) {
                Thread.sleep(1);
            }
        }
        return !out.hasRemaining();
    }
}
