package dev.isthmus.local;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Blocking work with its outcome. */
record BackgroundTask<T>(Supplier<T> work, LocalBackend.Outcome<T> outcome) implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(BackgroundTask.class);

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
