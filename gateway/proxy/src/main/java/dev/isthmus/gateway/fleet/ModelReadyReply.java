package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;

/** What one server answers when it is asked once whether a model is ready on it. */
final class ModelReadyReply implements Reply {
    private final ModelReadyListener listener;
    private boolean answered;
    private boolean ready;
    private boolean over;

    /** Takes what came of it: one of the two, once, when the server has ended its answer. */
    interface ModelReadyListener {
        void ready(boolean ready);

        /** The server said nothing of the model. */
        void failed(OipException failure);
    }

    ModelReadyReply(ModelReadyListener listener) {
        this.listener = listener;
    }

    /** Whether the failure means that the server cannot be reached, so that no model is ready there. */
    static boolean unreachable(OipException failure) {
        return failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED;
    }

    @Override
    public void message(ReplyMessage answer) {
        answered = true;
        ready = answer instanceof ReplyMessage.ModelReadyState is && is.ready();
        answer.release();
    }

    @Override
    public void complete() {
        if (!answered) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the server sent no answer"));
        } else if (!over) {
            over = true;
            listener.ready(ready);
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!over) {
            over = true;
            listener.failed(failure);
        }
    }
}
