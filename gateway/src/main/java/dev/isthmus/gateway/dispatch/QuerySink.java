package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.RequestSink;
import io.netty.buffer.ByteBuf;
import java.util.function.Supplier;

/** The body of an operation that needs none: what comes is dropped, and its end starts the query. */
final class QuerySink implements RequestSink {
    private final Supplier<Cancellation> query;
    private Cancellation underWay = Cancellation.NONE;

    QuerySink(Supplier<Cancellation> query) {
        this.query = query;
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
