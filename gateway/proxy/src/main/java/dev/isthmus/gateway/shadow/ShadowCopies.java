package dev.isthmus.gateway.shadow;

import dev.isthmus.transcoder.InferMessage;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The copies of one call. Lives on the call's event loop. */
final class ShadowCopies implements PrimaryCallObserver, Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowCopies.class);

    private final List<ShadowCopy> copies;
    private final RequestSource source;
    private boolean told;

    ShadowCopies(List<ShadowCopy> copies, RequestSource source) {
        this.copies = copies;
        this.source = source;
    }

    /** Sends them. */
    @Override
    public void run() {
        copies.forEach(copy -> copy.send(source));
        source.release();
    }

    /** The loop takes no more tasks. */
    void drop() {
        copies.forEach(copy -> copy.leave(ShadowOutcome.CLOSED));
        source.release();
    }

    @Override
    public boolean compares() {
        return !told && copies.stream().anyMatch(ShadowCopy::compares);
    }

    @Override
    public void answered(InferMessage answer) {
        tell(copy -> copy.mainAnswered(answer));
    }

    @Override
    public void ended() {
        tell(ShadowCopy::mainEnded);
    }

    private void tell(Consumer<ShadowCopy> what) {
        if (told) {
            return;
        }
        told = true;
        for (ShadowCopy copy : copies) {
            try {
                what.accept(copy);
            } catch (RuntimeException fault) {
                LOG.error("end of a main call, for its copy", fault);
                copy.leave(ShadowOutcome.FAILED);
            }
        }
    }
}
