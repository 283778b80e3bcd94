package dev.isthmus.gateway;

import dev.isthmus.gateway.config.GatewayConfig.Listener;
import dev.isthmus.gateway.ingress.Entry;
import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.net.Transport;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** The ports that clients use. Changed by one thread at a time. */
final class Listeners implements AutoCloseable {
    private final Transport transport;
    private final EventLoopGroup loops;
    private final ByteBufAllocator allocator;
    private final Entry entry;
    private volatile List<Bound> bound = List.of();

    private record Bound(Listener listener, IngressServer server) {}

    Listeners(Transport transport, EventLoopGroup loops, ByteBufAllocator allocator, Entry entry) {
        this.transport = transport;
        this.loops = loops;
        this.allocator = allocator;
        this.entry = entry;
    }

    /** Other listeners, bound and not yet in place of those before. */
    final class Change {
        private final List<Bound> next = new ArrayList<>();
        private final List<Bound> fresh = new ArrayList<>();
        private final List<Bound> gone = new ArrayList<>(bound);

        private void add(Listener listener) throws Exception {
            for (Bound each : gone) {
                if (each.listener().equals(listener)) {
                    gone.remove(each);
                    next.add(each);
                    return;
                }
            }
            InetSocketAddress address = new InetSocketAddress(listener.host(), listener.port());
            Bound made = new Bound(listener, IngressServer.listen(transport, loops, allocator, address, entry));
            fresh.add(made);
            next.add(made);
        }

        /** Gives up: the listeners stay as they were. */
        void undo() {
            fresh.forEach(each -> each.server().close());
        }

        /** Puts it into effect: those that are no longer wanted accept no more; their connections go on. */
        void commit() {
            bound = List.copyOf(next);
            gone.forEach(each -> each.server().close());
        }
    }

    /**
     * Binds what is not bound yet, and accepts there. Blocks.
     *
     * @throws Exception when a port cannot be bound, with the address in its text; nothing is changed then
     */
    Change prepare(List<Listener> wanted) throws Exception {
        Change change = new Change();
        for (Listener listener : wanted) {
            try {
                change.add(listener);
            } catch (Exception e) {
                change.undo();
                throw e;
            }
        }
        return change;
    }

    /** Where clients find it, with the ports that were chosen. */
    List<InetSocketAddress> addresses() {
        return bound.stream().map(each -> each.server().address()).toList();
    }

    @Override
    public void close() {
        bound.forEach(each -> each.server().close());
    }
}
