package dev.isthmus.gateway.admin;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.atomic.AtomicBoolean;

/** Refuses what is asked for while it is being done: it takes one of the few threads of the admin listener. Thread-safe. */
public final class OneAtATime implements AutoCloseable {
    private final String refusal;
    private final AtomicBoolean begun = new AtomicBoolean();

    /** @param refusal what a second one is told */
    public OneAtATime(String refusal) {
        this.refusal = refusal;
    }

    /** Begins; throws an {@link OipException} ABORTED until the one that has begun is closed. */
    public OneAtATime begin() {
        if (!begun.compareAndSet(false, true)) {
            throw new OipException(ErrorCode.ABORTED, refusal);
        }
        return this;
    }

    @Override
    public void close() {
        begun.set(false);
    }
}
