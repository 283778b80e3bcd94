package dev.isthmus.bench.local;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A closed-loop client: sends a request and waits for its response, repeatedly. */
final class ClosedLoopClient implements InferCallback {
    private final RepeatedRequest request;
    private final Histogram nanos = Latency.histogram();
    private @Nullable Thread waiting;
    private volatile long ended;
    private volatile @Nullable OipException failure;

    ClosedLoopClient(RepeatedRequest request) {
        this.request = request;
    }

    /**
     * Sends requests until this time. Records the time from the call to its callback, without the waiting thread's
     * wake-up.
     */
    void run(long endNanos) {
        waiting = Thread.currentThread();
        long begun = System.nanoTime();
        while (begun - endNanos < 0) {
            once(begun);
            begun = System.nanoTime();
        }
    }

    /** Sends this many requests. */
    void run(int times) {
        waiting = Thread.currentThread();
        for (int i = 0; i < times; i++) {
            once(System.nanoTime());
        }
    }

    private void once(long begun) {
        ended = 0;
        request.ask(this);
        while (ended == 0) {
            LockSupport.park(this);
        }
        OipException problem = failure;
        if (problem != null) {
            throw problem;
        }
        Latency.record(nanos, ended - begun);
    }

    Histogram nanos() {
        return nanos;
    }

    @Override
    public void done(InferResponse response) {
        response.release();
        wake();
    }

    @Override
    public void failed(OipException problem) {
        failure = problem;
        wake();
    }

    private void wake() {
        ended = System.nanoTime();
        LockSupport.unpark(waiting);
    }
}
