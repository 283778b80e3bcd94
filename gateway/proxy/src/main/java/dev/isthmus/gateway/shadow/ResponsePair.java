package dev.isthmus.gateway.shadow;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.compare.TensorComparison;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A main answer and a shadow's to the same request. Owns both, and the bytes that they count for; ends with one of
 * {@link #run()} and {@link #drop()}.
 */
final class ResponsePair implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(ResponsePair.class);

    private final ShadowFigures figures;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final InferMessage main;
    private final InferMessage shadow;
    private final Runnable release;

    /**
     * Two answers on any wires.
     *
     * @param main taken
     * @param shadow taken
     * @param release gives back the bytes that both count for
     */
    ResponsePair(
            ShadowFigures figures,
            Transcoder transcoder,
            ByteBufAllocator allocator,
            InferMessage main,
            InferMessage shadow,
            Runnable release) {
        this.figures = figures;
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.main = main;
        this.shadow = shadow;
        this.release = release;
    }

    @Override
    public void run() {
        try {
            compare(decoded(main), decoded(shadow));
        } catch (RuntimeException fault) {
            LOG.error("comparison of a shadow's answer", fault);
        } finally {
            release.run();
        }
    }

    private void compare(@Nullable InferResponse first, @Nullable InferResponse second) {
        try {
            if (first == null) {
                figures.count(ComparisonResult.LEFT_OUT);
            } else if (second == null) {
                figures.unreadable();
            } else {
                figures.compared(TensorComparison.of(first, second));
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

    /** The answer (taken); null where it cannot be read. */
    private @Nullable InferResponse decoded(InferMessage message) {
        try {
            InferMessage decoded = transcoder.response(allocator, message, ResponseForm.DECODED);
            return ((InferMessage.Response) decoded).response();
        } catch (OipException unreadable) {
            return null;
        } catch (RuntimeException fault) {
            LOG.error("answer for a comparison", fault);
            return null;
        }
    }

    /** Gives everything back uncompared. */
    void drop() {
        figures.count(ComparisonResult.DROPPED);
        main.release();
        shadow.release();
        release.run();
    }
}
