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
 * A client that waits for what the catalogue looks up on its own loop. Belongs to the call's loop; the deadline is the
 * client's.
 *
 * @param <T> what is awaited
 */
final class PendingClient<T> implements Subscription {
    private final Call call;
    private final Reply reply;
    private final Consumer<T> then;
    private boolean over;
    private @Nullable ScheduledFuture<?> timer;

    /** @param then gets what was found, on the call's loop, unless the client gave up */
    PendingClient(Call call, Reply reply, Consumer<T> then) {
        this.call = call;
        this.reply = reply;
        this.then = then;
    }

    /** @param search begins on the catalogue's loop */
    PendingClient<T> begin(ScheduledExecutorService catalogue, Consumer<Consumer<T>> search) {
        if (call.hasDeadline()) {
            long left = call.deadlineNanos() - System.nanoTime();
            timer = catalogue.schedule(() -> handOver(call.loop(), this::late), left, TimeUnit.NANOSECONDS);
        }
        handOver(catalogue, () -> search.accept(this::found));
        return this;
    }

    /** On the catalogue's loop. */
    private void found(T found) {
        handOver(call.loop(), () -> tell(found));
    }

    private void tell(T found) {
        if (!over) {
            cancel();
            then.accept(found);
        }
    }

    private void late() {
        if (!over) {
            cancel();
            reply.fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "the model's servers did not respond in time"));
        }
    }

    /** Others may wait for the same: the search goes on. */
    @Override
    public void cancel() {
        over = true;
        if (timer != null) {
            timer.cancel(false);
        }
    }

    private static void handOver(Executor loop, Runnable task) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException closed) {
            // The gateway is being closed, and the client's connection with it: there is nobody to tell.
            return;
        }
    }
}
