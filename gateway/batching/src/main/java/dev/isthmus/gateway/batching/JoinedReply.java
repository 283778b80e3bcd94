package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.SharedHeaders;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Receives the response to a joined call. */
final class JoinedReply implements Reply {
    private final JoinedBatch batch;
    private final CallContext context;
    private final Map<String, String> headers = new HashMap<>();
    private @Nullable InferMessage response;

    JoinedReply(JoinedBatch batch, CallContext context) {
        this.batch = batch;
        this.context = context;
    }

    @Override
    public void headers(Map<String, String> received) {
        headers.putAll(SharedHeaders.of(received));
    }

    @Override
    public void message(ReplyMessage message) {
        if (!batch.hasEnded() && response == null && message instanceof ReplyMessage.Inference inference) {
            response = inference.message();
        } else {
            message.release();
        }
    }

    @Override
    public void complete() {
        InferMessage received = response;
        response = null;
        if (batch.hasEnded()) {
            release(received);
        } else if (received == null) {
            batch.failed(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "a response is expected, got none"));
        } else {
            batch.answered(received, Map.copyOf(headers), context);
        }
    }

    @Override
    public void fail(OipException failure) {
        release(response);
        response = null;
        if (!batch.hasEnded()) {
            batch.failed(failure);
        }
    }

    /** The call was cancelled. */
    void discard() {
        release(response);
        response = null;
    }

    private static void release(@Nullable InferMessage message) {
        if (message != null) {
            message.release();
        }
    }
}
