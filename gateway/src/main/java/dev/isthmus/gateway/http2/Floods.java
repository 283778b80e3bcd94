package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http2.Http2Error;
import java.util.function.LongSupplier;

/**
 * Counts what costs a peer little and us more: resets, and frames that carry nothing. What carries something pays for
 * frames that come with it in any honest use, such as a PING for every DATA frame.
 */
final class Floods {
    /** Streams that a client may reset, or make us reset, in {@link #PERIOD}. */
    static final int MAX_RESETS = 200;

    /** Frames that carry nothing in {@link #PERIOD}, above those that are paid for. */
    static final int MAX_CONTROL = 1000;

    static final long PERIOD = 30_000_000_000L;

    /** Bytes of DATA that pay for one frame. */
    private static final int BYTES_A_FRAME = 256;

    private final LongSupplier nanos;
    private final boolean countResets;
    private long since;
    private int resets;
    private int control;
    private long paid;

    /** @param countResets whether the peer is a client: a server that resets every stream harms none but its own */
    Floods(LongSupplier nanos, boolean countResets) {
        this.nanos = nanos;
        this.countResets = countResets;
        this.since = nanos.getAsLong();
    }

    /** DATA was sent or received, or a stream opened. */
    void work(int bytes) {
        paid += 1 + bytes / BYTES_A_FRAME;
    }

    /** A frame that carries nothing came. */
    void control() {
        refresh();
        control++;
        if (control > MAX_CONTROL + paid) {
            throw new Violation(Http2Error.ENHANCE_YOUR_CALM, "too many frames that carry nothing");
        }
    }

    /** The peer has reset a stream, or made us reset one. */
    void reset() {
        refresh();
        resets++;
        if (countResets && resets > MAX_RESETS) {
            throw new Violation(Http2Error.ENHANCE_YOUR_CALM, "more than " + MAX_RESETS + " streams reset in 30 s");
        }
    }

    /** Begins a new period if the last one is over. */
    private void refresh() {
        long now = nanos.getAsLong();
        if (now - since > PERIOD) {
            since = now;
            resets = 0;
            control = 0;
            paid = 0;
        }
    }
}
