package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;
import java.util.function.Supplier;

/**
 * Sequential unary gRPC calls on one connection.
 *
 * @param encoding {@code gzip} if the message is compressed, else {@code identity}
 */
record GrpcMessage(String name, String method, String encoding, int calls, Payload message) implements Attack {
    GrpcMessage(String name, String method, String encoding, int calls, Supplier<byte[]> message) {
        this(name, method, encoding, calls, new Payload(() -> framed(encoding.equals("gzip"), message.get())));
    }

    private static byte[] framed(boolean compressed, byte[] message) {
        return FrameBytes.message(compressed, message.length, message);
    }

    @Override
    public void prepare() {
        message.get();
    }

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] framed = message.get();
        message.drop();
        AttackResult.Counts counts = new AttackResult.Counts();
        try (Http2 wire = new Http2(target.http2Port())) {
            for (int call = 0; call < Math.max(1, target.connections(calls)) && wire.isOpen(); call++) {
                int stream = 2 * call + 1;
                wire.write(FrameBytes.call(stream, method, "grpc-encoding", encoding), 2_000);
                wire.data(stream, framed, true);
                wire.await(() -> wire.ended(stream), 10_000);
            }
            wire.count(counts);
            return counts.seen(true);
        }
    }
}
