package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A complete body that waits for shared rate limits before it is sent. Confined to the call's event loop. */
final class HeldBody implements Subscription {
    private final Function<ByteBuf, Subscription> send;
    private final Consumer<OipException> fail;
    private @Nullable ByteBuf body;
    private Subscription inFlight = Subscription.NONE;

    private HeldBody(ByteBuf body, Function<ByteBuf, Subscription> send, Consumer<OipException> fail) {
        this.body = body;
        this.send = send;
        this.fail = fail;
    }

    /**
     * Sends a body (taken) once it is admitted.
     *
     * @param undecided null if it is admitted
     * @param loop event loop of the call, where this is called
     * @param fail receives why it is not
     */
    static Subscription of(
            @Nullable CompletableFuture<Boolean> undecided,
            EventLoop loop,
            ByteBuf body,
            Function<ByteBuf, Subscription> send,
            Consumer<OipException> fail) {
        if (undecided == null) {
            return send.apply(body);
        }
        HeldBody held = new HeldBody(body, send, fail);
        RateWait.then(undecided, loop, held::decided);
        return held;
    }

    private void decided(@Nullable OipException refusal) {
        ByteBuf complete = body;
        body = null;
        if (complete == null) {
            return;
        }
        if (refusal == null) {
            inFlight = send.apply(complete);
            return;
        }
        complete.release();
        fail.accept(refusal);
    }

    @Override
    public void cancel() {
        if (body != null) {
            body.release();
            body = null;
        }
        inFlight.cancel();
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }
}
