package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A client waiting for a lookup on the catalogue's loop. Used on the call's loop; enforces the client's deadline.
 *
 * @param <T> the awaited result
 */
final class PendingClient<T> implements Subscription {
    private final Call call;
    private final Reply reply;
    private final Consumer<T> then;
    private boolean ended;
    private @Nullable ScheduledFuture<?> timer;

    /** @param then receives the result on the call's loop, unless the client cancelled */
    PendingClient(Call call, Reply reply, Consumer<T> then) {
        this.call = call;
        this.reply = reply;
        this.then = then;
    }

    /** @param lookup started on the catalogue's loop */
    PendingClient<T> begin(ScheduledExecutorService catalogue, Consumer<Consumer<T>> lookup) {
        if (call.hasDeadline()) {
            long remaining = call.deadlineNanos() - System.nanoTime();
            timer = catalogue.schedule(() -> handOver(call.loop(), this::timedOut), remaining, TimeUnit.NANOSECONDS);
        }
        handOver(catalogue, () -> lookup.accept(this::found));
        return this;
    }

    /** Called on the catalogue's loop. */
    private void found(T found) {
        handOver(call.loop(), () -> deliver(found));
    }

    private void deliver(T found) {
        if (!ended) {
            cancel();
            then.accept(found);
        }
    }

    private void timedOut() {
        if (!ended) {
            cancel();
            reply.fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "the model's servers did not respond in time"));
        }
    }

    /** The lookup continues: other clients may wait for it. */
    @Override
    public void cancel() {
        ended = true;
        if (timer != null) {
            timer.cancel(false);
        }
    }

    private static void handOver(Executor loop, Runnable task) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException closed) {
            // The gateway is shutting down, and the client's connection is closed with it.
            return;
        }
    }
}
