package dev.isthmus.gateway;

import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.net.ListenAddress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig.Listener;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** The ports that clients use. Changed by one thread at a time. */
final class Listeners implements AutoCloseable {
    private final Transport transport;
    private final EventLoopGroup loops;
    private final ByteBufAllocator allocator;
    private final ListenerContext entry;
    private volatile List<BoundListener> bound = List.of();

    private record BoundListener(Listener listener, IngressServer server) {}

    Listeners(Transport transport, EventLoopGroup loops, ByteBufAllocator allocator, ListenerContext entry) {
        this.transport = transport;
        this.loops = loops;
        this.allocator = allocator;
        this.entry = entry;
    }

    /** Other listeners, bound and not yet in place of those before. */
    final class Change {
        private final List<BoundListener> next = new ArrayList<>();
        private final List<BoundListener> fresh = new ArrayList<>();
        private final List<BoundListener> gone = new ArrayList<>(bound);

        private void add(Listener listener) throws BindException, InterruptedException {
            for (BoundListener each : gone) {
                if (each.listener().equals(listener)) {
                    gone.remove(each);
                    next.add(each);
                    return;
                }
            }
            BoundListener made = new BoundListener(listener, listen(listener));
            fresh.add(made);
            next.add(made);
        }

        private IngressServer listen(Listener listener) throws BindException, InterruptedException {
            ListenAddress address = address(listener);
            InetSocketAddress resolved = address.resolve();
            try {
                return IngressServer.listen(transport, loops, allocator, resolved, entry);
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                throw address.refused(e);
            }
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
     * That these can be bound. Blocks.
     *
     * @throws BindException when one cannot
     */
    static void check(List<Listener> wanted) throws BindException {
        for (Listener listener : wanted) {
            address(listener).check();
        }
    }

    /** Those that are not bound yet. */
    List<Listener> unbound(List<Listener> wanted) {
        List<Listener> held = bound.stream().map(BoundListener::listener).toList();
        return wanted.stream().filter(each -> !held.contains(each)).toList();
    }

    private static ListenAddress address(Listener listener) {
        return new ListenAddress("listener", listener.host(), listener.port(), "--port or in 'listeners'");
    }

    /**
     * Binds what is not bound yet, and accepts there. Blocks.
     *
     * @throws BindException when an address cannot be bound; nothing is changed then
     */
    Change prepare(List<Listener> wanted) throws BindException, InterruptedException {
        Change change = new Change();
        for (Listener listener : wanted) {
            try {
                change.add(listener);
            } catch (BindException | InterruptedException e) {
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
