package dev.isthmus.bench.local;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/** Reloads a model repeatedly while threads send requests to it. */
final class LocalReloads {
    static final int COUNT = 40;
    static final int THREADS = 4;

    private final LocalBackend backend;
    private final AtomicLong asked = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private volatile boolean over;

    /** @param backend with explicit model control */
    LocalReloads(LocalBackend backend) {
        this.backend = backend;
    }

    /**
     * Loads the model of a case {@link #COUNT} times; between two loads, some requests complete.
     *
     * @throws java.util.concurrent.ExecutionException if a load fails
     */
    void run(Case reloaded) throws Exception {
        try (RepeatedRequest request = RepeatedRequest.of(backend, reloaded)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                threads.add(Thread.ofPlatform().name("bench-asker-" + i).start(() -> ask(request)));
            }
            for (int i = 0; i < COUNT; i++) {
                load(reloaded.model());
                long since = asked.get();
                while (asked.get() - since < THREADS) {
                    Thread.sleep(1);
                }
            }
            over = true;
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }

    private void load(String model) throws Exception {
        CompletableFuture<String> loaded = new CompletableFuture<>();
        backend.load(model, new LocalBackend.Outcome<>() {
            @Override
            public void done(String name) {
                loaded.complete(name);
            }

            @Override
            public void failed(OipException failure) {
                loaded.completeExceptionally(failure);
            }
        });
        loaded.get();
    }

    private void ask(RepeatedRequest request) {
        Semaphore responses = new Semaphore(0);
        InferCallback callback = new InferCallback() {
            @Override
            public void done(InferResponse response) {
                response.release();
                responses.release();
            }

            @Override
            public void failed(OipException failure) {
                failed.incrementAndGet();
                responses.release();
            }
        };
        while (!over) {
            request.ask(callback);
            responses.acquireUninterruptibly();
            asked.incrementAndGet();
        }
    }

    long asked() {
        return asked.get();
    }

    long failed() {
        return failed.get();
    }
}
