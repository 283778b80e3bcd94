package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.transcoder.InferMessage;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The copies of one call, which are notified of its end on the call's event loop, before the client's reply ends. Only the
 * first of {@link #responded} and {@link #ended} counts. Throws nothing.
 */
final class ShadowCopies {
    /** For a call without copies. */
    static final ShadowCopies NONE = new ShadowCopies(List.of(), null);

    private static final Logger LOG = LoggerFactory.getLogger(ShadowCopies.class);

    private final List<ShadowCopy> copies;
    private final @Nullable InferSource source;
    private boolean notified;

    ShadowCopies(List<ShadowCopy> copies, @Nullable InferSource source) {
        this.copies = copies;
        this.source = source;
    }

    /** Sends the copies. */
    void send() {
        if (source != null) {
            copies.forEach(copy -> copy.send(source));
            source.release();
        }
    }

    /** Drops the copies: the loop has terminated. */
    void drop() {
        copies.forEach(copy -> copy.drop(ShadowOutcome.CLOSED));
        if (source != null) {
            source.release();
        }
    }

    /** Whether the complete response is needed; if not, {@link #ended} suffices. */
    boolean compares() {
        return !notified && copies.stream().anyMatch(ShadowCopy::compares);
    }

    /**
     * The server responded.
     *
     * @param response on the server's wire, borrowed: parts that are kept are retained, not copied
     */
    void responded(InferMessage response) {
        notifyCopies(copy -> copy.primaryResponded(response));
    }

    /** There is no response to compare with: the call failed, or the client has disconnected. */
    void ended() {
        notifyCopies(ShadowCopy::primaryEnded);
    }

    private void notifyCopies(Consumer<ShadowCopy> notification) {
        if (notified || copies.isEmpty()) {
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
