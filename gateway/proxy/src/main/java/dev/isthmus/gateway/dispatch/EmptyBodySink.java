package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.function.Supplier;

/** The body of an operation that needs none: what comes is dropped, and its end starts the query. */
public final class EmptyBodySink implements RequestSink {
    private final Supplier<Subscription> query;
    private Subscription underWay = Subscription.NONE;

    /** @param query starts what was asked for; called once, at the end of the request */
    public EmptyBodySink(Supplier<Subscription> query) {
        this.query = query;
    }

    /**
     * As the constructor.
     *
     * @param reply fails where the query throws
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

    /** Answers at the end of the request. */
    public static RequestSink answering(Reply reply, ReplyMessage answer) {
        return new EmptyBodySink(() -> {
            reply.only(answer);
            return Subscription.NONE;
        });
    }

    @Override
    public void data(ByteBuf chunk) {
        chunk.release();
    }

    @Override
    public void end() {
        underWay = query.get();
    }

    @Override
    public void cancel() {
        underWay.cancel();
    }
}
