package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.OipException;
import java.util.function.Consumer;

/** A reply that passes on what it is told to callbacks. */
public class CallbackReply implements Reply {
    private final Consumer<ReplyMessage> message;
    private final Runnable then;
    private final Consumer<OipException> failed;

    /**
     * For any request.
     *
     * @param message borrows each message
     * @param then runs when the reply is complete
     */
    public CallbackReply(Consumer<ReplyMessage> message, Runnable then, Consumer<OipException> failed) {
        this.message = message;
        this.then = then;
        this.failed = failed;
    }

    /** For a request for the metadata of a model, without which an inference cannot be produced. */
    public CallbackReply(InferSource source, Runnable then, Consumer<OipException> failed) {
        this(
                response -> {
                    if (response instanceof ReplyMessage.Model model) {
                        source.describe(model.metadata());
                    }
                },
                then,
                failed);
    }

    @Override
    public void message(ReplyMessage response) {
        try {
            message.accept(response);
        } finally {
            response.release();
        }
    }

    @Override
    public void complete() {
        then.run();
    }

    @Override
    public void fail(OipException failure) {
        failed.accept(failure);
    }
}
