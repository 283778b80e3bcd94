package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.RequestSink;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.function.Function;

/** Gathers a body that is passed on without being read, and hands it over when it is complete. */
final class PassedBody implements RequestSink {
    private final Function<ByteBuf, Cancellation> query;
    private final CompositeByteBuf body;
    private Cancellation underWay = Cancellation.NONE;
    private boolean over;

    /** @param query takes the complete body */
    PassedBody(ByteBufAllocator allocator, Function<ByteBuf, Cancellation> query) {
        this.query = query;
        this.body = allocator.compositeBuffer(Integer.MAX_VALUE);
    }

    @Override
    public void data(ByteBuf chunk) {
        if (over || !chunk.isReadable()) {
            chunk.release();
        } else {
            body.addComponent(true, chunk);
        }
    }

    @Override
    public long held() {
        return over ? 0 : body.readableBytes();
    }

    @Override
    public void end() {
        if (!over) {
            over = true;
            underWay = query.apply(body);
        }
    }

    @Override
    public void cancel() {
        if (over) {
            underWay.cancel();
        } else {
            over = true;
            body.release();
        }
    }

    @Override
    public void resume() {
        underWay.resume();
    }
}
