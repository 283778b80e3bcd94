package dev.isthmus.bench.sizing;

import dev.isthmus.bench.RawMethods;
import dev.isthmus.bench.http2.FrameBytes;
import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The CPU time of small gRPC calls, which h2load sends. */
final class CallCost {
    private static final Duration LIMIT = Duration.ofSeconds(120);
    private static final int IDLE_MILLIS = 3_000;

    private final Children children;
    private final Path folder;
    private final int calls;

    /** @param calls in one measurement */
    CallCost(Children children, Path folder, int calls) {
        this.children = children;
        this.folder = folder;
        this.calls = calls;
    }

    /** CPU time of the event loops for one call, in microseconds, without what they use when the gateway is idle. */
    double micros(SizedGateway gateway, String model) throws IOException, InterruptedException, BenchException {
        double idle = -gateway.process().cpuSecondsOf(SizingRun.LOOPS);
        long begun = System.nanoTime();
        Thread.sleep(IDLE_MILLIS);
        idle += gateway.process().cpuSecondsOf(SizingRun.LOOPS);
        double idlePerNano = idle / (System.nanoTime() - begun);
        double used = -gateway.process().cpuSecondsOf(SizingRun.LOOPS);
        begun = System.nanoTime();
        send(gateway.port(), model);
        used += gateway.process().cpuSecondsOf(SizingRun.LOOPS) - idlePerNano * (System.nanoTime() - begun);
        return used / calls * 1e6;
    }

    private void send(int port, String model) throws IOException, InterruptedException, BenchException {
        byte[] message = RawMethods.request(model, "", "FP32", new byte[16], 1L, 4L);
        Path body = Files.write(folder.resolve("request"), FrameBytes.message(false, message.length, message));
        Child load = children.start(
                "h2load",
                new ProcessBuilder(List.of(
                        "h2load",
                        "-t1",
                        "-c4",
                        "-m4",
                        "-n" + calls,
                        "-d" + body,
                        "-Hcontent-type: application/grpc",
                        "-Hte: trailers",
                        "http://127.0.0.1:" + port + "/inference.GRPCInferenceService/ModelInfer")));
        String codes = load.await("status codes: ", LIMIT);
        if (!codes.startsWith(calls + " 2xx")) {
            throw load.failure("did not get 200 for all calls of model '" + model + "'");
        }
        load.awaitExit(LIMIT);
    }
}
