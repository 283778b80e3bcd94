package dev.isthmus.bench.attack;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;

/**
 * An endless stream of HTTP/2 frames on one connection, which the gateway must close.
 *
 * @param burst the frames of a turn, by its number from 0
 * @param turns maximum number of turns
 * @param read whether the attacker reads
 */
record Flood(String name, int turns, boolean read, IntFunction<byte[]> burst) implements Attack {
    private static final long WRITE_TIMEOUT_MILLIS = 5_000;

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        long start = System.nanoTime();
        try (Http2 wire = new Http2(target.http2Port())) {
            int turn = 0;
            boolean taken = true;
            for (; turn < turns && taken && !wire.wentAway(); turn++) {
                taken = read ? wire.write(burst.apply(turn), WRITE_TIMEOUT_MILLIS) : unread(wire, burst.apply(turn));
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

    /** Writes without reading, until the socket accepts no bytes for the write timeout. */
    private static boolean unread(NonBlockingConnection wire, byte[] bytes) throws InterruptedException {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        long end = System.nanoTime() + WRITE_TIMEOUT_MILLIS * 1_000_000;
        while (out.hasRemaining() && wire.isOpen() && System.nanoTime() < end) {
            if (!wire.offer(out)) {
                Thread.sleep(1);
            }
        }
        return !out.hasRemaining();
    }
}
