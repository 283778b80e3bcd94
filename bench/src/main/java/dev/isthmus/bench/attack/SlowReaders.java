package dev.isthmus.bench.attack;

import dev.isthmus.bench.http2.FrameBytes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** 100 clients that request 16 MiB each and do not read for 5 s, longer than the write timeout of the tests. */
record SlowReaders(String name, String model, boolean binary) implements Attack {
    private static final int CLIENTS = 100;
    private static final long HELD_MILLIS = 5_000;

    @Override
    public AttackResult play(AttackTarget target) throws IOException, InterruptedException {
        String output = binary ? ",\"parameters\":{\"binary_data_output\":true}}" : "}";
        String json = new String(Messages.json("x"), StandardCharsets.US_ASCII);
        byte[] body = Http1.text(json.substring(0, json.length() - 1) + output);
        byte[] request = FrameBytes.join(
                Http1.post(
                        "/v2/models/" + model + "/infer",
                        "Content-Type: application/json",
                        "Content-Length: " + body.length),
                body);
        List<Http1> wires = new ArrayList<>();
        AttackResult.Counts counts = new AttackResult.Counts();
        try {
            for (int i = 0; i < CLIENTS; i++) {
                Http1 wire = new Http1(target.port(), 4_096);
                wires.add(wire);
                wire.write(request, 2_000);
            }
            Thread.sleep(target.brief() ? HELD_MILLIS / 2 : HELD_MILLIS);
            for (Http1 wire : wires) {
                wire.await(wire::answered, 10);
                counts.add(wire.end());
            }
            return counts.seen(true);
        } finally {
            for (Http1 wire : wires) {
                wire.close();
            }
        }
    }
}
