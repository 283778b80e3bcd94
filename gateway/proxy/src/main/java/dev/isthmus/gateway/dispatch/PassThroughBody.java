package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.json.JsonCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Gathers a body, which is validated while it arrives if it is JSON, and passes it on when it is complete. */
public final class PassThroughBody implements RequestSink {
    private final @Nullable JsonCheck check;
    private final Reply reply;
    private final Function<ByteBuf, Subscription> query;
    private final CompositeByteBuf body;
    private Subscription inFlight = Subscription.NONE;
    private boolean ended;
    private boolean cancelled;

    /**
     * Creates an empty body.
     *
     * @param check validates JSON; null for other content
     * @param reply fails if the check does
     * @param query receives the complete body
     */
    public PassThroughBody(
            ByteBufAllocator allocator, @Nullable JsonCheck check, Reply reply, Function<ByteBuf, Subscription> query) {
        this.check = check;
        this.reply = reply;
        this.query = query;
        this.body = allocator.compositeBuffer(Integer.MAX_VALUE);
    }

    @Override
    public void data(ByteBuf chunk) {
        if (ended || !chunk.isReadable()) {
            chunk.release();
            return;
        }
        checked(json -> json.feed(chunk));
        if (ended) {
            chunk.release();
        } else {
            SmallParts.append(body, chunk);
        }
    }

    private void checked(Consumer<JsonCheck> step) {
        try {
            if (check != null) {
                step.accept(check);
            }
        } catch (OipException malformed) {
            cancel();
            reply.fail(malformed);
        }
    }

    @Override
    public long held() {
        if (ended) {
            return 0;
        }
        return body.readableBytes() + (check == null ? 0 : check.held());
    }

    @Override
    public void end() {
        if (!ended) {
            checked(JsonCheck::finish);
        }
        if (!ended) {
            ended = true;
            inFlight = query.apply(SmallParts.complete(body)).cancelIf(cancelled);
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
        if (ended) {
            inFlight.cancel();
        } else {
            ended = true;
            body.release();
        }
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }
}
