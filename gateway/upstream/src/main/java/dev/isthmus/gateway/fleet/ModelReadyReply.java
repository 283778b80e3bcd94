package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;

/**
 * Receives a server's response to one model readiness request. When it has ended, {@link #ready} or {@link #failed} is
 * called once.
 */
abstract class ModelReadyReply implements Reply {
    private boolean hasResponse;
    private boolean ready;
    private boolean ended;

    abstract void ready(boolean isReady);

    /** The response says nothing about the model. */
    abstract void failed(OipException failure);

    /** Whether the failure means that the server cannot be reached, so that no model is ready on it. */
    static boolean unreachable(OipException failure) {
        return failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED;
    }

    @Override
    public void message(ReplyMessage response) {
        hasResponse = true;
        ready = response instanceof ReplyMessage.ModelReadyState is && is.ready();
        response.release();
    }

    @Override
    public void complete() {
        if (!hasResponse) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the server sent no response"));
        } else if (!ended) {
            ended = true;
            ready(ready);
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!ended) {
            ended = true;
            failed(failure);
        }
    }
}
