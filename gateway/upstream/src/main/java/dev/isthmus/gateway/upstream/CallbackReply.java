package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.OipException;
import java.util.function.Consumer;

/** Receives the metadata of a model, for a request that cannot be produced without it. */
public class DescribingReply implements Reply {
    private final InferSource source;
    private final Runnable then;
    private final Consumer<OipException> failed;

    /**
     * @param then runs when the metadata is known
     * @param failed receives the failure
     */
    public DescribingReply(InferSource source, Runnable then, Consumer<OipException> failed) {
        this.source = source;
        this.then = then;
        this.failed = failed;
    }

    @Override
    public void message(ReplyMessage message) {
        if (message instanceof ReplyMessage.Model model) {
            source.describe(model.metadata());
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
