package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Concurrent REST requests with the same body.
 *
 * @param request head and body
 */
record RestBodies(String name, int requests, Payload request) implements Attack {
    private static final String CHUNKED = "Transfer-Encoding: chunked";

    /**
     * Requests with a body.
     *
     * @param headers of each request, without Content-Length
     * @param body including its framing if it is chunked
     */
    RestBodies(String name, String path, List<String> headers, int requests, Supplier<byte[]> body) {
        this(name, requests, new Payload(() -> request(path, headers, body.get())));
    }

    private static byte[] request(String path, List<String> headers, byte[] body) {
        List<String> lines = new ArrayList<>(headers);
        if (!lines.contains(CHUNKED)) {
            lines.add("Content-Length: " + body.length);
        }
        return FrameBytes.join(Http1.post(path, lines.toArray(String[]::new)), body);
    }

    @Override
    public void prepare() {
        request.get();
    }

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        byte[] bytes = request.get();
        request.drop();
        AttackResult.Counts counts = new AttackResult.Counts();
        List<Http1> wires = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            Http1 wire = new Http1(target.port());
            wires.add(wire);
            wire.write(bytes, 5_000);
        }
        for (Http1 wire : wires) {
            wire.await(wire::answered, 10_000);
            counts.add(wire.end());
            wire.close();
        }
        return counts.seen(true);
    }

    static RestBodies chunked(String name, String path, Supplier<byte[]> body) {
        return new RestBodies(name, path, List.of(CHUNKED, "Content-Type: application/json"), 1, body);
    }
}
