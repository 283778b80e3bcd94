package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.function.Supplier;

/** The body of an operation without one: data is discarded, and the end starts the query. */
public final class EmptyBodySink implements RequestSink {
    private final Reply reply;
    private final Supplier<Subscription> query;
    private Subscription inFlight = Subscription.NONE;
    private boolean cancelled;

    /**
     * The body of an operation that starts later.
     *
     * @param reply fails if the query throws
     * @param query starts the operation; called once, at the end of the request
     */
    public EmptyBodySink(Reply reply, Supplier<Subscription> query) {
        this.reply = reply;
        this.query = query;
    }

    /** Completes the reply at the end of the request. */
    public static RequestSink replying(Reply reply, ReplyMessage message) {
        return new EmptyBodySink(reply, () -> {
            reply.only(message);
            return Subscription.NONE;
        });
    }

    @Override
    public void data(ByteBuf chunk) {
        chunk.release();
    }

    @Override
    public void end() {
        try {
            inFlight = query.get().cancelIf(cancelled);
        } catch (OipException failure) {
            reply.fail(failure);
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
        inFlight.cancel();
    }
}
