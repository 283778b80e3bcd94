package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.function.Supplier;

/** The body of an operation that needs none: what comes is dropped, and its end starts the query. */
public final class QuerySink implements RequestSink {
    private final Supplier<Cancellation> query;
    private Cancellation underWay = Cancellation.NONE;

    /** @param query starts what was asked for; called once, at the end of the request */
    public QuerySink(Supplier<Cancellation> query) {
        this.query = query;
    }

    /**
     * As the constructor.
     *
     * @param reply fails where the query throws
     */
    public static RequestSink of(Reply reply, Supplier<Cancellation> query) {
        return new QuerySink(() -> {
            try {
                return query.get();
            } catch (OipException failure) {
                reply.fail(failure);
                return Cancellation.NONE;
            }
        });
    }

    /** Answers at the end of the request. */
    public static RequestSink answering(Reply reply, Answer answer) {
        return new QuerySink(() -> {
            reply.only(answer);
            return Cancellation.NONE;
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
