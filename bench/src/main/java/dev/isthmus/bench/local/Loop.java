package dev.isthmus.bench.local;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;

/** A closed loop without its own threads: each response triggers the next request, as on an event loop. */
final class Loop implements InferCallback {
    private final RepeatedRequest request;
    private final long endNanos;
    private final LongAdder answers;
    private final CountDownLatch ended;
    private final AtomicReference<OipException> failure;

    private Loop(
            RepeatedRequest request,
            long endNanos,
            LongAdder answers,
            CountDownLatch ended,
            AtomicReference<OipException> failure) {
        this.request = request;
        this.endNanos = endNanos;
        this.answers = answers;
        this.ended = ended;
        this.failure = failure;
    }

    /** Requests per second with this many in flight. */
    static double perSecond(RepeatedRequest request, int inFlight, double seconds) throws InterruptedException {
        long begun = System.nanoTime();
        long end = begun + Math.round(seconds * 1e9);
        LongAdder answers = new LongAdder();
        CountDownLatch ended = new CountDownLatch(inFlight);
        AtomicReference<OipException> failure = new AtomicReference<>();
        for (int i = 0; i < inFlight; i++) {
            request.ask(new Loop(request, end, answers, ended, failure));
        }
        ended.await();
        if (failure.get() != null) {
            throw failure.get();
        }
        return answers.sum() / ((System.nanoTime() - begun) / 1e9);
    }

    @Override
    public void done(InferResponse response) {
        response.release();
        answers.increment();
        if (System.nanoTime() - endNanos < 0) {
            request.ask(this);
        } else {
            ended.countDown();
        }
    }

    @Override
    public void failed(OipException problem) {
        failure.set(problem);
        ended.countDown();
    }
}
