package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Pipelined GETs on twelve connections without reading responses: the gateway must stop reading requests. */
record Pipelining() implements Attack {
    private static final int CONNECTIONS = 12;
    private static final int BATCH = 1_000;
    private static final long NANOS = 5_000_000_000L;
    /** Maximum bytes of requests that socket buffers and the gateway may accept on a connection. */
    private static final long MAX_TAKEN = 64 << 20;

    @Override
    public String name() {
        return "pipelining";
    }

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] gets = FrameBytes.times(Http1.text("GET /v2/models/m HTTP/1.1\r\nHost: a\r\n\r\n"), BATCH);
        List<Http1> wires = new ArrayList<>();
        long taken = 0;
        int closed = 0;
        try {
            List<ByteBuffer> out = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                wires.add(new Http1(target.port(), 4_096));
                out.add(ByteBuffer.wrap(gets));
            }
            long end = System.nanoTime() + (target.brief() ? NANOS / 4 : NANOS);
            while (System.nanoTime() < end && taken < CONNECTIONS * MAX_TAKEN) {
                long before = taken;
                for (int i = 0; i < CONNECTIONS; i++) {
                    ByteBuffer bytes = out.get(i);
                    int position = bytes.position();
                    if (wires.get(i).isOpen() && wires.get(i).offer(bytes)) {
                        taken += bytes.position() - position;
                        bytes.position(bytes.hasRemaining() ? bytes.position() : 0);
                    }
                }
                if (taken == before) {
                    Thread.sleep(5);
                }
            }
            for (Http1 wire : wires) {
                closed += wire.isOpen() ? 0 : 1;
            }
        } finally {
            for (Http1 wire : wires) {
                wire.close();
            }
        }
        return new AttackResult(
                taken < CONNECTIONS * MAX_TAKEN, "accepted " + taken / 1_000_000 + " MB of requests, closed " + closed);
    }
}
