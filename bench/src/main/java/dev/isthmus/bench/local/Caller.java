package dev.isthmus.bench.local;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A thread that asks and waits for the answer, one request after the other. */
final class Caller implements InferCallback {
    private final Question question;
    private final Histogram nanos = Latency.histogram();
    private @Nullable Thread waiting;
    private volatile long ended;
    private volatile @Nullable OipException failure;

    Caller(Question question) {
        this.question = question;
    }

    /** Asks until that time; from the call to its outcome is what is recorded, not the waiting thread's waking. */
    void run(long endNanos) {
        waiting = Thread.currentThread();
        long begun = System.nanoTime();
        while (begun - endNanos < 0) {
            once(begun);
            begun = System.nanoTime();
        }
    }

    /** Asks so many times. */
    void run(int times) {
        waiting = Thread.currentThread();
        for (int i = 0; i < times; i++) {
            once(System.nanoTime());
        }
    }

    private void once(long begun) {
        ended = 0;
        question.ask(this);
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
