package dev.isthmus.local.ort;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * Calls a supplier on a thread with a deep stack. To create its environment, ONNX Runtime 1.29 uses a few hundred bytes
 * of stack per character of the process's command line: 4,000 characters, such as a long class path, overflow a stack
 * of 1 MiB, and the process ends with SIGSEGV and no message. Only the used part of the stack takes memory.
 */
final class DeepStackThread {
    /** Enough for about 500,000 characters. */
    private static final long BYTES = 256L * 1024 * 1024;

    private DeepStackThread() {}

    /** @throws IllegalStateException if the supplier fails */
    static <T> T call(Supplier<T> supplier) {
        CompletableFuture<T> outcome = new CompletableFuture<>();
        Thread thread = new Thread(null, () -> complete(outcome, supplier), "isthmus-local-start", BYTES);
        thread.setDaemon(true);
        thread.start();
        try {
            return outcome.join();
        } catch (CompletionException e) {
            throw new IllegalStateException("ONNX Runtime cannot be started", e.getCause());
        }
    }

    private static <T> void complete(CompletableFuture<T> outcome, Supplier<T> supplier) {
        try {
            outcome.complete(supplier.get());
        } catch (RuntimeException | Error e) {
            outcome.completeExceptionally(e);
        }
    }
}
