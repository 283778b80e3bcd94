package dev.isthmus.bench.local;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Measures the time that a backend's single worker thread spends on a request: the time between the completions of two
 * queued requests. The first request of a burst blocks the thread until all others are queued.
 */
final class Burst implements InferCallback {
    private final RepeatedRequest request;
    private final Histogram nanos = Latency.histogram();
    private final AtomicInteger open = new AtomicInteger();
    private final Semaphore ended = new Semaphore(0);
    private CountDownLatch queued = new CountDownLatch(0);
    private CountDownLatch held = new CountDownLatch(0);
    private boolean first;
    private long last;
    private volatile @Nullable OipException failure;

    Burst(RepeatedRequest request) {
        this.request = request;
    }

    /** Runs bursts of {@code size} requests for this many seconds. */
    Latency run(int size, double seconds) throws InterruptedException {
        long end = System.nanoTime() + Math.round(seconds * 1e9);
        do {
            once(size);
        } while (System.nanoTime() - end < 0);
        return Latency.of(nanos);
    }

    private void once(int size) throws InterruptedException {
        first = true;
        open.set(size + 1);
        queued = new CountDownLatch(1);
        held = new CountDownLatch(1);
        request.ask(this);
        held.await();
        for (int i = 0; i < size; i++) {
            request.ask(this);
        }
        queued.countDown();
        ended.acquire();
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public void done(InferResponse response) {
        response.release();
        if (first) {
            hold();
            last = System.nanoTime();
        } else {
            long now = System.nanoTime();
            Latency.record(nanos, now - last);
            last = now;
        }
        answered();
    }

    /** Wakes the waiting thread only for the last response of the burst: a wake-up costs as much as a small run. */
    private void answered() {
        if (open.decrementAndGet() == 0) {
            ended.release();
        }
    }

    private void hold() {
        first = false;
        held.countDown();
        try {
            queued.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void failed(OipException problem) {
        failure = problem;
        held.countDown();
        answered();
    }
}
