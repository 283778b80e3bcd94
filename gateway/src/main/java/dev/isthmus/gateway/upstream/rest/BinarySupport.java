package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.Dialect;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** What is known of a server's support of binary tensor data. Used by all event loops. */
final class BinarySupport {
    private static final String EXTENSION = "binary_tensor_data";
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * What is known at a time.
     *
     * @param known whether {@code supported} is more than an assumption
     * @param asking whether the server is being asked
     * @param nextAt the earliest time of the next attempt
     */
    private record State(boolean known, boolean supported, boolean asking, long nextAt) {}

    private final AtomicReference<State> state;

    BinarySupport(BinaryTensorData configured) {
        long now = System.nanoTime();
        this.state = new AtomicReference<>(
                switch (configured) {
                    case AUTO -> new State(false, false, false, now);
                    case TRUE -> new State(true, true, false, now);
                    case FALSE -> new State(true, false, false, now);
                });
    }

    boolean supported() {
        return state.get().supported;
    }

    /** Whether the caller is to ask the server now; who is told so ends it by {@link #learn} or {@link #failed}. */
    boolean mustAsk() {
        State seen = state.get();
        long now = System.nanoTime();
        return !seen.known
                && !seen.asking
                && now - seen.nextAt >= 0
                && state.compareAndSet(seen, new State(false, false, true, now + PAUSE_NANOS));
    }

    /** Learns from the server's metadata, unless the answer is known. */
    void learn(ServerMetadata metadata) {
        boolean supported = metadata.extensions().contains(EXTENSION)
                || Dialect.ofServer(metadata.name()).unannouncedBinary(metadata.version());
        state.updateAndGet(seen -> seen.known ? seen : new State(true, supported, false, seen.nextAt));
    }

    /** The server could not be asked; somebody else may try, after a pause. */
    void failed() {
        state.updateAndGet(seen -> new State(seen.known, seen.supported, false, seen.nextAt));
    }
}
