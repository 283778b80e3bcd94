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
    private final Supplier<Subscription> query;
    private Subscription inFlight = Subscription.NONE;

    /** @param query starts the operation; called once, at the end of the request */
    public EmptyBodySink(Supplier<Subscription> query) {
        this.query = query;
    }

    /**
     * As the constructor, but failures of the query fail the reply.
     *
     * @param reply fails if the query throws
     */
    public static RequestSink of(Reply reply, Supplier<Subscription> query) {
        return new EmptyBodySink(() -> {
            try {
                return query.get();
            } catch (OipException failure) {
                reply.fail(failure);
                return Subscription.NONE;
            }
        });
    }

    /** Completes the reply at the end of the request. */
    public static RequestSink replying(Reply reply, ReplyMessage message) {
        return new EmptyBodySink(() -> {
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
        inFlight = query.get();
    }

    @Override
    public void cancel() {
        inFlight.cancel();
    }
}
