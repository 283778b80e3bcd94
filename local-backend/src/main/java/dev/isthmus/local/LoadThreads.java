package dev.isthmus.local;

import dev.isthmus.local.ort.ProcessEnd;
import dev.isthmus.local.run.LowPriorityThread;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the steps of loads for a limited time, each on a thread of its own. A step that does not end in time is
 * terminated. Native code cannot be interrupted: if it does not end then, its thread is abandoned and counted, and there
 * is a maximum of such threads. Thread-safe.
 */
final class LoadThreads implements AutoCloseable {
    static final int MAX_ABANDONED = 16;

    private static final Logger LOG = LoggerFactory.getLogger(LoadThreads.class);
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final Duration limit;
    private final Duration grace;
    /** Names each, so that the report of a crash tells which model it loaded. */
    private final ThreadFactory threads =
            Thread.ofPlatform().daemon().name("isthmus-local-load-", 1).factory();

    private final Set<StepRun<?>> runs = ConcurrentHashMap.newKeySet();
    private final AtomicInteger abandoned = new AtomicInteger();
    private volatile boolean closed;

    /** A step of a load. */
    interface LoadStep<T> {
        /** What is loaded, for the log. */
        String subject();

        /** Its current activity, such as "its warm-up". Thread-safe. */
        String activity();

        T run();

        /** Tells {@link #run} to end. Thread-safe. */
        default void terminate() {}

        /** Releases the result of a step that was abandoned. */
        default void discard(T result) {}
    }

    /** @param limit the maximum duration of a step */
    LoadThreads(Duration limit) {
        this(limit, GRACE);
    }

    /** @param grace how long a terminated step may take to end before it is abandoned */
    LoadThreads(Duration limit, Duration grace) {
        this.limit = limit;
        this.grace = grace;
    }

    /** The number of threads whose step did not end although it was terminated. */
    int abandoned() {
        return abandoned.get();
    }

    boolean closed() {
        return closed;
    }

    /**
     * Runs a step and waits for its result.
     *
     * @throws OipException of the step; FAILED_PRECONDITION if it did not end in time, UNAVAILABLE during shutdown
     */
    <T> T call(LoadStep<T> step) {
        if (closed) {
            throw closing();
        }
        if (abandoned.get() >= MAX_ABANDONED) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    MAX_ABANDONED
                            + " earlier loads did not end and still run; only a restart of the gateway ends them");
        }
        ProcessEnd.enter();
        StepRun<T> run = new StepRun<>(step);
        runs.add(run);
        run.start();
        if (closed) {
            step.terminate();
        }
        return run.await();
    }

    /** Terminates the active steps and abandons those that do not end. Blocks. */
    @Override
    public void close() {
        closed = true;
        runs.forEach(run -> run.step.terminate());
        long start = System.nanoTime();
        for (StepRun<?> run : runs) {
            if (!run.ended(grace.toNanos() - (System.nanoTime() - start))) {
                run.abandon(closing());
            }
        }
    }

    private final class StepRun<T> implements Runnable {
        private final LoadStep<T> step;
        private final CompletableFuture<T> outcome = new CompletableFuture<>();
        private final AtomicBoolean left = new AtomicBoolean();

        StepRun(LoadStep<T> step) {
            this.step = step;
        }

        void start() {
            threads.newThread(this).start();
        }

        @Override
        public void run() {
            LowPriorityThread.lower();
            try {
                T value = step.run();
                if (!outcome.complete(value)) {
                    late();
                    step.discard(value);
                }
            } catch (Throwable fault) {
                if (!outcome.completeExceptionally(fault)) {
                    late();
                }
            } finally {
                runs.remove(this);
                leave();
            }
        }

        private void late() {
            abandoned.decrementAndGet();
            LOG.info("{}: {}, which was given up, has ended", step.subject(), step.activity());
        }

        private void leave() {
            if (left.compareAndSet(false, true)) {
                ProcessEnd.leave();
            }
        }

        boolean ended(long nanos) {
            try {
                outcome.get(Math.max(nanos, 1), TimeUnit.NANOSECONDS);
            } catch (ExecutionException | TimeoutException e) {
                // It has failed, or is active.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return outcome.isDone();
        }

        T await() {
            boolean inTime = ended(limit.toNanos());
            if (!inTime) {
                OipException failure = tooLong();
                step.terminate();
                if (!ended(grace.toNanos()) && abandon(failure)) {
                    // The process does not wait for it at its end either.
                    leave();
                } else if (outcome.isCompletedExceptionally()) {
                    throw failure;
                }
            }
            return result();
        }

        private OipException tooLong() {
            long millis = limit.toMillis();
            return new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    step.activity() + " did not end within "
                            + (millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms") + ", the load_timeout");
        }

        /** Gives up; returns false if it has ended in the meantime. */
        boolean abandon(OipException failure) {
            abandoned.incrementAndGet();
            if (!outcome.completeExceptionally(failure)) {
                abandoned.decrementAndGet();
                return false;
            }
            LOG.error(
                    "{}: {} did not end although it was terminated; its thread is given up, and may use a core until the"
                            + " process ends ({} such threads of at most {})",
                    step.subject(),
                    step.activity(),
                    abandoned,
                    MAX_ABANDONED);
            return true;
        }

        private T result() {
            try {
                return outcome.join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof RuntimeException known) {
                    throw known;
                }
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
                throw e;
            }
        }
    }

    private static OipException closing() {
        return new OipException(ErrorCode.UNAVAILABLE, "the local backend is closing");
    }
}
