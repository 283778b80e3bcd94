package dev.isthmus.gateway.call;

import dev.isthmus.oip.OipException;

/**
 * Takes the answers to a call: any number of messages, then exactly one of {@link #complete()} and {@link #fail}. A unary
 * operation is a stream of one. Called on the call's event loop only. After the end of the reply, and after the call's
 * cancellation, further calls are ignored and their buffers released.
 */
public interface Reply {

    /** Takes one answer (its buffers are taken). */
    void message(Answer answer);

    void complete();

    void fail(OipException failure);

    /** The only answer. */
    default void only(Answer answer) {
        message(answer);
        complete();
    }
}
