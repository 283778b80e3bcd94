package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.compare.FloatTolerance;
import dev.isthmus.transcoder.compare.TensorComparison;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A primary response and a shadow's response to the same request. Owns both and their memory reservation; exactly one
 * of {@link #run()} and {@link #drop()} is called.
 */
final class ResponsePair implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ResponsePair.class);

    private final ShadowFigures figures;
    private final String requestId;
    private final Transcoder transcoder;
    private final FloatTolerance tolerance;
    private final ByteBufAllocator allocator;
    private final InferMessage primary;
    private final InferMessage shadow;
    private final Runnable release;

    /**
     * Two responses on any wires.
     *
     * @param requestId of the call
     * @param primary taken
     * @param shadow taken
     * @param release releases the memory reservation for both
     */
    ResponsePair(
            ShadowFigures figures,
            String requestId,
            Transcoder transcoder,
            FloatTolerance tolerance,
            ByteBufAllocator allocator,
            InferMessage primary,
            InferMessage shadow,
            Runnable release) {
        this.figures = figures;
        this.requestId = requestId;
        this.transcoder = transcoder;
        this.tolerance = tolerance;
        this.allocator = allocator;
        this.primary = primary;
        this.shadow = shadow;
        this.release = release;
    }

    @Override
    public void run() {
        try {
            compare(decoded(primary), decoded(shadow));
        } catch (RuntimeException fault) {
            LOG.atError()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .setCause(fault)
                    .log("internal error in a comparison with a shadow's response; please report it");
        } finally {
            release.run();
        }
    }

    private void compare(@Nullable InferResponse first, @Nullable InferResponse second) {
        try {
            if (first == null) {
                figures.count(ComparisonResult.LEFT_OUT);
            } else if (second == null) {
                figures.unreadable(requestId);
            } else {
                figures.compared(
                        requestId,
                        TensorComparison.of(first, second),
                        output -> tolerance.accepts(output, first, second));
            }
        } finally {
            if (first != null) {
                first.release();
            }
            if (second != null) {
                second.release();
            }
        }
    }

    /** The decoded response; null if it cannot be decoded. The message is taken. */
    private @Nullable InferResponse decoded(InferMessage message) {
        try {
            InferMessage decoded = transcoder.response(allocator, message, ResponseForm.DECODED);
            return ((InferMessage.Response) decoded).response();
        } catch (OipException unreadable) {
            return null;
        } catch (RuntimeException fault) {
            LOG.atError()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .setCause(fault)
                    .log("internal error in decoding a response for comparison; please report it");
            return null;
        }
    }

    /** Releases everything without comparing. */
    void drop() {
        figures.count(ComparisonResult.DROPPED);
        primary.release();
        shadow.release();
        release.run();
    }
}
