package dev.isthmus.bench.attack;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Connections with an incomplete request, which the gateway must close.
 *
 * @param connections their number
 * @param begun bytes sent at once
 * @param drip bytes sent twice a second
 * @param http2 whether the connections are HTTP/2
 */
@SuppressWarnings("ArrayRecordComponent") // attacks are not compared
record IdleConnections(String name, int connections, byte[] begun, byte[] drip, boolean http2) implements Attack {
    private static final long WRITE_MILLIS = 1_000;
    private static final long LIMIT_NANOS = 15_000_000_000L;
    private static final long PERIOD_MILLIS = 500;

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        long start = System.nanoTime();
        int count = target.connections(connections);
        List<Http1> wires = new ArrayList<>();
        AttackResult.Counts counts = new AttackResult.Counts();
        try {
            for (int i = 0; i < count; i++) {
                Http1 wire = new Http1(http2 ? target.http2Port() : target.port());
                wires.add(wire);
                wire.write(begun, WRITE_MILLIS);
            }
            long open = count;
            while (open > 0 && System.nanoTime() - start < LIMIT_NANOS) {
                Thread.sleep(PERIOD_MILLIS);
                open = wires.stream().filter(this::keepOpen).count();
            }
            for (Http1 wire : wires) {
                counts.add(wire.answered() && !http2 ? wire.end() : wire.isOpen() ? "open" : "closed");
            }
            return counts.seen(open == 0);
        } finally {
            for (Http1 wire : wires) {
                wire.close();
            }
        }
    }

    private boolean keepOpen(Http1 wire) {
        if (wire.poll() && drip.length > 0) {
            wire.offer(ByteBuffer.wrap(drip));
        }
        return wire.isOpen();
    }
}
