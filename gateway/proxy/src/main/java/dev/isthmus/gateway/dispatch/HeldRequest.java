package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request whose call waits for shared rate limits: what arrives is kept, and the client is not read. Once it is
 * admitted, everything is forwarded. Confined to the call's event loop.
 */
final class HeldRequest implements RequestSink {
    private final Reply reply;
    private final Deque<ByteBuf> parts = new ArrayDeque<>();
    private @Nullable RequestSink admitted;
    private boolean complete;

    private HeldRequest(Reply reply) {
        this.reply = reply;
    }

    /**
     * The sink of a call that was counted.
     *
     * @param undecided null if the call is admitted
     * @param loop event loop of the call, where this is called
     * @param open opens the call once it is admitted
     */
    static RequestSink of(
            @Nullable CompletableFuture<Boolean> undecided, EventLoop loop, Reply reply, Supplier<RequestSink> open) {
        if (undecided == null) {
            return open.get();
        }
        HeldRequest held = new HeldRequest(reply);
        RateWait.then(undecided, loop, refusal -> held.decided(refusal, open));
        return held;
    }

    private void decided(@Nullable OipException refusal, Supplier<RequestSink> open) {
        if (admitted != null) {
            return;
        }
        if (refusal != null) {
            fail(refusal);
            return;
        }
        RequestSink sink;
        try {
            sink = open.get();
        } catch (RuntimeException e) {
            fail(RateWait.failure(e));
            return;
        }
        admitted = sink;
        while (!parts.isEmpty()) {
            sink.data(parts.remove());
        }
        if (complete) {
            sink.end();
        } else if (sink.isReady()) {
            reply.onReady();
        }
    }

    private void fail(OipException failure) {
        cancel();
        reply.fail(failure);
    }

    @Override
    public void data(ByteBuf chunk) {
        if (admitted == null) {
            parts.add(chunk);
        } else {
            admitted.data(chunk);
        }
    }

    @Override
    public void end() {
        complete = true;
        if (admitted != null) {
            admitted.end();
        }
    }

    @Override
    public void cancel() {
        if (admitted != null) {
            admitted.cancel();
            return;
        }
        admitted = RequestSink.ENDED;
        parts.forEach(ByteBuf::release);
        parts.clear();
    }

    @Override
    public boolean isReady() {
        return admitted != null && admitted.isReady();
    }

    @Override
    public boolean inOnePiece() {
        return admitted == null || admitted.inOnePiece();
    }

    @Override
    public long held() {
        return admitted == null
                ? parts.stream().mapToLong(ByteBuf::readableBytes).sum()
                : admitted.held();
    }

    @Override
    public void onReady() {
        if (admitted != null) {
            admitted.onReady();
        }
    }
}
