package dev.isthmus.gateway;

import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.ingress.TrustedProxies;
import dev.isthmus.gateway.net.ListenAddress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig.Listener;
import dev.isthmus.gateway.settings.ListenerExposure;
import dev.isthmus.gateway.settings.ManagementAccess;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The listeners for clients. Changed by one thread at a time. */
final class Listeners implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

    private final Transport transport;
    private final EventLoopGroup loops;
    private final ByteBufAllocator allocator;
    private final ListenerContext entry;
    private volatile List<BoundListener> bound = List.of();

    /**
     * A listening port.
     *
     * @param proxies in effect for new connections
     */
    private record BoundListener(Listener listener, IngressServer server, AtomicReference<TrustedProxies> proxies) {
        /** The same port with other settings, which {@link #apply} puts into effect. */
        BoundListener with(Listener other) {
            return new BoundListener(other, server, proxies);
        }

        void apply() {
            proxies.set(proxiesOf(listener));
        }
    }

    private static TrustedProxies proxiesOf(Listener listener) {
        return new TrustedProxies(listener.trustedProxies(), listener.proxyProtocol());
    }

    Listeners(Transport transport, EventLoopGroup loops, ByteBufAllocator allocator, ListenerContext entry) {
        this.transport = transport;
        this.loops = loops;
        this.allocator = allocator;
        this.entry = entry;
    }

    /** A new set of listeners, bound but not yet in effect. */
    final class Change {
        private final List<BoundListener> next = new ArrayList<>();
        private final List<BoundListener> added = new ArrayList<>();
        private final List<BoundListener> removed = new ArrayList<>(bound);

        private void add(Listener listener) throws BindException, InterruptedException {
            for (BoundListener each : removed) {
                if (each.listener().sameAddress(listener)) {
                    removed.remove(each);
                    next.add(each.with(listener));
                    if (!each.listener().equals(listener)) {
                        warn(listener);
                    }
                    return;
                }
            }
            AtomicReference<TrustedProxies> proxies = new AtomicReference<>(proxiesOf(listener));
            BoundListener boundListener = new BoundListener(listener, listen(listener, proxies), proxies);
            warn(listener);
            added.add(boundListener);
            next.add(boundListener);
        }

        private static void warn(Listener listener) {
            if (ListenerExposure.isOpen(listener) && !ListenerExposure.isLoopback(listener)) {
                LOG.warn(
                        "listener {} is open: whoever reaches it may send requests without a credential{}",
                        listener.label(),
                        listener.management() == ManagementAccess.ALLOW ? ", and change servers" : "");
            }
        }

        private IngressServer listen(Listener listener, AtomicReference<TrustedProxies> proxies)
                throws BindException, InterruptedException {
            ListenAddress address = address(listener);
            InetSocketAddress resolved = address.resolve();
            try {
                return IngressServer.listen(transport, loops, allocator, resolved, entry.named(listener.label()).behind(proxies::get));
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                throw address.refused(e);
            }
        }

        /** Discards the change. */
        void undo() {
            added.forEach(each -> each.server().close());
        }

        /** Applies the change: removed listeners accept no more connections; existing connections stay open. */
        void commit() {
            bound = List.copyOf(next);
            bound.forEach(BoundListener::apply);
            removed.forEach(each -> each.server().close());
        }
    }

    /**
     * Checks that the listeners can be bound. Blocks.
     *
     * @throws BindException if one cannot
     */
    static void check(List<Listener> listeners) throws BindException {
        for (Listener listener : listeners) {
            address(listener).check();
        }
    }

    /** The listeners that are not bound yet. */
    List<Listener> unbound(List<Listener> listeners) {
        return listeners.stream()
                .filter(wanted -> bound.stream().noneMatch(each -> each.listener().sameAddress(wanted)))
                .toList();
    }

    private static ListenAddress address(Listener listener) {
        return new ListenAddress("listener", listener.host(), listener.port(), "--port or in 'listeners'");
    }

    /**
     * Binds the listeners that are not bound yet, and accepts connections. Blocks.
     *
     * @throws BindException if an address cannot be bound; nothing changes then
     */
    Change prepare(List<Listener> listeners) throws BindException, InterruptedException {
        Change change = new Change();
        for (Listener listener : listeners) {
            try {
                change.add(listener);
            } catch (BindException | InterruptedException e) {
                change.undo();
                throw e;
            }
        }
        return change;
    }

    /** The bound addresses, with their actual ports. */
    List<InetSocketAddress> addresses() {
        return bound.stream().map(each -> each.server().address()).toList();
    }

    @Override
    public void close() {
        bound.forEach(each -> each.server().close());
    }
}
