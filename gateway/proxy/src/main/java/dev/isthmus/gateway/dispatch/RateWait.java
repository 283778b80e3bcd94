package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.channel.EventLoop;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Continues a call when shared rate limits have decided about it. */
final class RateWait {
    private static final Logger LOG = LoggerFactory.getLogger(RateWait.class);

    private RateWait() {}

    /**
     * Continues on the call's event loop, where this is called: at once if the decision is known.
     *
     * @param undecided null if the call is admitted
     * @param then receives why the call is refused, null if it is admitted
     */
    static void then(
            @Nullable CompletableFuture<Boolean> undecided, EventLoop loop, Consumer<@Nullable OipException> then) {
        if (undecided == null) {
            then.accept(null);
        } else if (undecided.isDone()) {
            then.accept(undecided.isCompletedExceptionally() ? failure(undecided.exceptionNow()) : null);
        } else {
            undecided.whenComplete(
                    (admitted, refusal) -> loop.execute(() -> then.accept(refusal == null ? null : failure(refusal))));
        }
    }

    /** The failure to report to the client: an {@link OipException} itself, and nothing specific for anything else. */
    static OipException failure(Throwable thrown) {
        Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
        if (cause instanceof OipException failure) {
            return failure;
        }
        LOG.atError()
                .addMarker(RepeatingLogEvent.MARKER)
                .setCause(thrown)
                .log("internal error in a call that waited for its rate limit; please report it");
        return new OipException(ErrorCode.INTERNAL, "internal error", thrown);
    }
}
