package dev.isthmus.gateway.call;

import io.netty.buffer.ByteBuf;

/**
 * Receives the body of a call as it arrives, on the call's event loop. The reply may fail before the body ends; the
 * rest of the body is then released unread.
 */
public interface RequestSink {

    /** The sink of a call that failed before its body arrived: it accepts nothing. */
    RequestSink ENDED = new RequestSink() {
        @Override
        public void data(ByteBuf chunk) {
            chunk.release();
        }

        @Override
        public void end() {}

        @Override
        public void cancel() {}

        @Override
        public boolean isReady() {
            return false;
        }
    };

    /** Receives the next part of the body (taken). */
    void data(ByteBuf chunk);

    /** The body is complete. */
    void end();

    /** The client disconnected or cancelled: ends and releases everything in flight for this call. No reply follows. */
    void cancel();

    /** Whether it accepts more of the request now; if not, {@link Reply#onReady()} reports when it does. */
    default boolean isReady() {
        return true;
    }

    /**
     * Whether a large body should be contiguous in memory; otherwise it may arrive in parts. Called again after each
     * part: once false, it stays false.
     */
    default boolean inOnePiece() {
        return true;
    }

    /** Bytes of memory that it holds now for the request, received or derived from it. */
    default long held() {
        return 0;
    }

    /** The client, which was not {@linkplain Reply#isReady() ready}, accepts responses again. */
    default void onReady() {}
}
