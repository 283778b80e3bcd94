package dev.isthmus.gateway.call;

import io.netty.buffer.ByteBuf;

/**
 * Takes the body of a call as it arrives, on the call's event loop. The reply may fail before the body has ended; what
 * comes after that is released unread.
 */
public interface RequestSink {

    /** Of a call that has failed before its body came: it takes nothing. */
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

    /** Takes the next part of the body (taken). */
    void data(ByteBuf chunk);

    /** The body is complete. */
    void end();

    /** The client has gone or gave up: whatever is under way for this call is ended and released. No reply follows. */
    void cancel();

    /** Whether more of the request is wanted now; where not, {@link Reply#onReady()} tells when it is again. */
    default boolean isReady() {
        return true;
    }

    /**
     * Whether a large body had better be in one piece of memory; otherwise it may as well come in parts. Asked again after
     * each part: once false it stays so.
     */
    default boolean inOnePiece() {
        return true;
    }

    /** Bytes of memory that it holds of the request now: of what came, or of what was made of it. */
    default long held() {
        return 0;
    }

    /** The client, which was not {@linkplain Reply#writable() writable}, takes answers again. */
    default void onReady() {}
}
