package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.transcoder.InferMessage;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The copies of one call. Used on the call's event loop. */
final class ShadowCopies implements PrimaryCallObserver, Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowCopies.class);

    private final List<ShadowCopy> copies;
    private final RequestSource source;
    private boolean notified;

    ShadowCopies(List<ShadowCopy> copies, RequestSource source) {
        this.copies = copies;
        this.source = source;
    }

    /** Sends the copies. */
    @Override
    public void run() {
        copies.forEach(copy -> copy.send(source));
        source.release();
    }

    /** Drops the copies: the loop has terminated. */
    void drop() {
        copies.forEach(copy -> copy.drop(ShadowOutcome.CLOSED));
        source.release();
    }

    @Override
    public boolean compares() {
        return !notified && copies.stream().anyMatch(ShadowCopy::compares);
    }

    @Override
    public void responded(InferMessage response) {
        notifyCopies(copy -> copy.primaryResponded(response));
    }

    @Override
    public void ended() {
        notifyCopies(ShadowCopy::primaryEnded);
    }

    private void notifyCopies(Consumer<ShadowCopy> notification) {
        if (notified) {
            return;
        }
        notified = true;
        for (ShadowCopy copy : copies) {
            try {
                notification.accept(copy);
            } catch (RuntimeException fault) {
                LOG.atError()
                        .addMarker(RepeatingLogEvent.MARKER)
                        .setCause(fault)
                        .log("internal error in a copy for a shadow; please report it");
                copy.drop(ShadowOutcome.FAILED);
            }
        }
    }
}
