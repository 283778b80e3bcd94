package dev.isthmus.local;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads and unloads models, which blocks: a few at a time, those of one model in their order. A change that takes long
 * gives its place to another model's, so that no model waits for another one. Thread-safe.
 */
final class ModelChanges implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ModelChanges.class);

    /** How many changes may have given up their place. */
    private static final int MAX_SLOW = 64;

    private static final Duration SLOW = Duration.ofSeconds(5);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);

    private final int atOnce;
    private final int queueSize;
    private final Duration slowAfter;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("isthmus-local-changes").factory());
    /** The queued changes of each model that has a running or queued one. */
    private final Map<String, Deque<ModelChange>> byModel = new HashMap<>();
    /** The models without a running change that have queued ones. */
    private final Deque<String> startable = new ArrayDeque<>();

    private int queued;
    private int running;
    /** Running changes that gave up their place. */
    private int slow;

    private boolean closed;

    /**
     * @param atOnce the number of changes that run at a time
     * @param queueSize the maximum number of queued changes; more are rejected
     */
    ModelChanges(int atOnce, int queueSize) {
        this(atOnce, queueSize, SLOW);
    }

    /** @param slowAfter when a change gives up its place */
    ModelChanges(int atOnce, int queueSize, Duration slowAfter) {
        this.atOnce = atOnce;
        this.queueSize = queueSize;
        this.slowAfter = slowAfter;
    }

    /** A change of a model; guarded by the lock of the outer object. */
    private final class ModelChange implements Runnable {
        private final String model;
        private final ChangeTask<?> task;
        private boolean placed = true;
        private @Nullable ScheduledFuture<?> patience;

        ModelChange(String model, ChangeTask<?> task) {
            this.model = model;
            this.task = task;
        }

        @Override
        public void run() {
            try {
                task.run();
            } finally {
                ended(this);
            }
        }
    }

    /** Queues a change, whatever the length of the queue; the outcome is called on the change's thread. */
    <T> void add(String model, Supplier<T> work, LocalBackend.Outcome<T> outcome) {
        add(model, new ChangeTask<>(work, outcome), Integer.MAX_VALUE);
    }

    /** As {@link #add}, unless the queue is full. */
    <T> void offer(String model, Supplier<T> work, LocalBackend.Outcome<T> outcome) {
        add(model, new ChangeTask<>(work, outcome), queueSize);
    }

    private void add(String model, ChangeTask<?> task, int capacity) {
        if (!queue(new ModelChange(model, task), capacity)) {
            task.refused("the local backend is closed, or has " + queueSize + " tasks in its queue");
        }
    }

    private synchronized boolean queue(ModelChange change, int capacity) {
        if (closed || queued >= capacity) {
            return false;
        }
        queued++;
        Deque<ModelChange> ofModel = byModel.get(change.model);
        if (ofModel == null) {
            ofModel = new ArrayDeque<>();
            byModel.put(change.model, ofModel);
            startable.addLast(change.model);
        }
        ofModel.addLast(change);
        startNext();
        return true;
    }

    private void startNext() {
        while (running - slow < atOnce && !startable.isEmpty()) {
            ModelChange next =
                    Objects.requireNonNull(byModel.get(startable.removeFirst())).removeFirst();
            queued--;
            running++;
            next.patience = timer.schedule(() -> giveUpPlace(next), slowAfter.toMillis(), TimeUnit.MILLISECONDS);
            Thread.ofPlatform().daemon().name("isthmus-local-change").start(next);
        }
    }

    private synchronized void giveUpPlace(ModelChange change) {
        if (change.placed && slow < MAX_SLOW && !closed) {
            change.placed = false;
            slow++;
            startNext();
        }
    }

    private synchronized void ended(ModelChange change) {
        if (change.patience != null) {
            change.patience.cancel(false);
        }
        running--;
        slow -= change.placed ? 0 : 1;
        change.placed = false;
        Deque<ModelChange> ofModel = byModel.get(change.model);
        if (ofModel == null || ofModel.isEmpty()) {
            byModel.remove(change.model);
        } else {
            startable.addLast(change.model);
        }
        if (!closed) {
            startNext();
        }
        notifyAll();
    }

    /** Fails queued and later changes with UNAVAILABLE. */
    void drain() {
        drained().forEach(change -> change.task.refused("the local backend is closing"));
    }

    /** Waits for the running changes, after {@link #drain()}. */
    @Override
    public void close() {
        drain();
        awaitEnd();
        timer.shutdownNow();
    }

    private synchronized List<ModelChange> drained() {
        closed = true;
        List<ModelChange> left = new ArrayList<>();
        byModel.values().forEach(changes -> {
            left.addAll(changes);
            changes.clear();
        });
        startable.clear();
        queued = 0;
        return left;
    }

    private synchronized void awaitEnd() {
        long end = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
        try {
            for (long left = CLOSE_TIMEOUT.toNanos(); running > 0 && left > 0; left = end - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Blocking work with its outcome. */
    private record ChangeTask<T>(Supplier<T> work, LocalBackend.Outcome<T> outcome) implements Runnable {

        @Override
        public void run() {
            T value;
            try {
                value = work.get();
            } catch (OipException e) {
                outcome.failed(e);
                return;
            } catch (Throwable fault) {
                LOG.error("internal error in a task of the local backend; please report it", fault);
                outcome.failed(new OipException(ErrorCode.INTERNAL, "internal error", fault));
                return;
            }
            outcome.done(value);
        }

        /** Ends it without running it. */
        void refused(String why) {
            outcome.failed(new OipException(ErrorCode.UNAVAILABLE, why));
        }
    }
}
