package dev.isthmus.gateway.fleet.kubernetes;

import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes what one watch sees to several listeners, on the event loop; to new ones at once. Thread-safe. */
final class SharedWatch implements ResourceListener<EndpointSlice>, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SharedWatch.class);

    private final Executor loop;
    private final ResourceWatch<EndpointSlice> watch;

    // Used on the loop only.
    private final List<ResourceListener<EndpointSlice>> listeners = new ArrayList<>();
    private @Nullable Collection<EndpointSlice> last;
    private boolean failed;

    /** Starts the watch. */
    SharedWatch(Executor loop, Function<ResourceListener<EndpointSlice>, ResourceWatch<EndpointSlice>> watch) {
        this.loop = loop;
        this.watch = watch.apply(this);
        this.watch.start();
    }

    void add(ResourceListener<EndpointSlice> listener) {
        onLoop(() -> {
            listeners.add(listener);
            if (last != null) {
                listener.changed(last);
            } else if (failed) {
                listener.failed();
            }
        });
    }

    void remove(ResourceListener<EndpointSlice> listener) {
        onLoop(() -> listeners.remove(listener));
    }

    @Override
    public void changed(Collection<EndpointSlice> slices) {
        onLoop(() -> {
            last = slices;
            listeners.forEach(each -> each.changed(slices));
        });
    }

    @Override
    public void failed() {
        onLoop(() -> {
            failed = true;
            listeners.forEach(ResourceListener::failed);
        });
    }

    private void onLoop(Runnable task) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("the event loop has terminated", e);
        }
    }

    @Override
    public void close() {
        watch.close();
    }
}
