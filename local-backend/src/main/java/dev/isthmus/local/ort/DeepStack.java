package dev.isthmus.local.ort;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * Calls something on a thread with a deep stack. ONNX Runtime 1.29 goes down a few hundred bytes of stack for each character
 * of the process's command line when it makes its environment: 4,000 characters, a class path say, are more than a thread of
 * 1 MiB has, and the process ends by SIGSEGV without a word. Memory is only taken for what is used of the stack.
 */
final class DeepStack {
    /** For some 500,000 characters. */
    private static final long BYTES = 256L * 1024 * 1024;

    private DeepStack() {}

    /** @throws IllegalStateException when it fails */
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
