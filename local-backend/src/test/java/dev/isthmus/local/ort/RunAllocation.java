package dev.isthmus.local.ort;

import com.sun.management.ThreadMXBean;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Tensor;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;

/**
 * Measures the heap allocation and the time of a run on one thread: of the embedded model "digits" with batch 1, and of
 * models with and without preallocated outputs. Not a test; the figures are in docs/internals/local-backend.md.
 */
final class RunAllocation {
    private static final int WARM_UP = 50_000;
    private static final int RUNS = 100_000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private RunAllocation() {}

    /** Runs on a thread like the executor's; other threads have no buffer cache. */
    public static void main(String[] arguments) throws Exception {
        FutureTask<Void> all = new FutureTask<>(() -> {
            measureAll();
            return null;
        });
        new FastThreadLocalThread(all, "run").start();
        all.get();
    }

    private static void measureAll() throws IOException {
        byte[] digits;
        try (InputStream in = OnnxModel.class.getResourceAsStream("/models/digits/1/model.onnx")) {
            digits = in.readAllBytes();
        }
        ModelSource source = new ModelSource("digits", "1", ModelSettings.DEFAULT, () -> digits, List.of());
        measure(
                "digits",
                OnnxModel.load(source, "cpu"),
                Fixtures.request(Fixtures.floats("image", new float[64], 1, 64)));
        measure("large, 64 numbers", Fixtures.load("large"), Fixtures.request(Fixtures.floats("x", new float[64], 64)));
        measure(
                "large, 1 MiB",
                Fixtures.load("large"),
                Fixtures.request(Fixtures.floats("x", new float[1 << 18], 1 << 18)));
        measure(
                "identity_fp32, 1 MiB",
                Fixtures.load("identity_fp32"),
                Fixtures.request(Fixtures.floats("INPUT0", new float[1 << 18], 1, 1 << 18)));
        measure(
                "iris, 1 row",
                Fixtures.load("iris"),
                Fixtures.request(Fixtures.floats("X", new float[] {5, 3, 1, 0}, 1, 4)));
    }

    private static void measure(String name, OnnxModel model, InferRequest request) {
        try (RunHandle handle = new RunHandle()) {
            long[] nanos = new long[RUNS];
            loop(model, request, handle, new long[WARM_UP]);
            long before = THREADS.getCurrentThreadAllocatedBytes();
            loop(model, request, handle, nanos);
            long bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
            Arrays.sort(nanos);
            System.out.printf(
                    "%-22s %6d B of heap a run, %.1f us p50, %.1f us p99%n",
                    name, bytes / RUNS, nanos[RUNS / 2] / 1e3, nanos[RUNS / 100 * 99] / 1e3);
        }
        request.release();
        model.release();
    }

    private static void loop(OnnxModel model, InferRequest request, RunHandle handle, long[] nanos) {
        for (int i = 0; i < nanos.length; i++) {
            long start = System.nanoTime();
            model.require(request);
            List<Tensor> outputs = model.run(request, handle, Fixtures.ALLOCATOR);
            outputs.forEach(Tensor::release);
            nanos[i] = System.nanoTime() - start;
        }
    }
}
