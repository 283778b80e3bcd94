package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.ListenAddress;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.CorsConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ManagementAccess;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.tls.ServerTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The listeners for clients. Changed by one thread at a time. */
public final class Listeners implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

    private final Transport transport;
    private final EventLoopGroup loops;
    private final ByteBufAllocator allocator;
    private final ListenerContext entry;
    private final TlsRegistry tls;
    private final MeterRegistry meters;
    private volatile List<BoundListener> bound = List.of();

    /** @param tls null for plain text */
    private record BoundListener(
            Listener listener,
            IngressServer server,
            @Nullable ServerTls tls) {
        void closeTls() {
            if (tls != null) {
                tls.close();
            }
        }
    }

    /** Without listeners yet. */
    public Listeners(
            Transport transport,
            EventLoopGroup loops,
            ByteBufAllocator allocator,
            ListenerContext entry,
            TlsRegistry tls,
            MeterRegistry meters) {
        this.tls = tls;
        this.meters = meters;
        this.transport = transport;
        this.loops = loops;
        this.allocator = allocator;
        this.entry = entry;
    }

    /** A new set of listeners, bound but not yet in effect. */
    public final class Change {
        private final List<BoundListener> next = new ArrayList<>();
        private final List<BoundListener> added = new ArrayList<>();
        /** Listeners whose socket stays, with other settings. */
        private final List<BoundListener> changed = new ArrayList<>();

        private final List<BoundListener> replaced = new ArrayList<>();
        private final List<BoundListener> removed = new ArrayList<>(bound);

        private void add(Listener listener) throws BindException, InterruptedException {
            for (BoundListener each : removed) {
                if (each.listener().sameAddress(listener)) {
                    change(each, listener);
                    return;
                }
            }
            ServerTls secured = load(listener);
            try {
                BoundListener boundListener = new BoundListener(listener, listen(listener, secured), secured);
                warn(listener);
                added.add(boundListener);
                next.add(boundListener);
            } catch (BindException | InterruptedException e) {
                if (secured != null) {
                    secured.close();
                }
                throw e;
            }
        }

        private void change(BoundListener before, Listener listener) {
            ServerTls kept = before.tls();
            boolean same = Objects.equals(before.listener().tls(), listener.tls());
            BoundListener after = new BoundListener(listener, before.server(), same ? kept : load(listener));
            removed.remove(before);
            if (!same) {
                replaced.add(before);
            }
            changed.add(after);
            next.add(after);
            if (!before.listener().equals(listener)) {
                warn(listener);
            }
        }

        private static void warn(Listener listener) {
            if (listener.isOpen() && !listener.isLoopback()) {
                LOG.atWarn()
                        .addKeyValue("listener", listener.label())
                        .log(
                                "listener {} is open: whoever reaches it may send requests without a credential{}; a"
                                        + " section 'authentication' closes it",
                                listener.label(),
                                listener.management() == ManagementAccess.ALLOW ? ", and change servers" : "");
            }
        }

        private @Nullable ServerTls load(Listener listener) {
            return listener.tls() == null ? null : tls.server("listener " + listener.label(), listener.tls());
        }

        private IngressServer listen(Listener listener, @Nullable ServerTls secured)
                throws BindException, InterruptedException {
            ListenAddress address = address(listener);
            SocketAddress resolved =
                    listener.isUnix() ? UnixDomainSocketAddress.of(listener.host()) : address.resolve();
            try {
                return IngressServer.bind(transport, loops, allocator, resolved, context(listener, secured));
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                throw address.refused(e);
            }
        }

        /** Discards the change. */
        public void undo() {
            end(added, List.of());
            for (BoundListener each : changed) {
                if (bound.stream().noneMatch(before -> before.tls() == each.tls())) {
                    each.closeTls();
                }
            }
        }

        /**
         * Applies the change: added listeners accept connections, removed ones accept no more, and changed ones accept
         * them with their new settings; existing connections stay open.
         */
        public void commit() {
            bound = List.copyOf(next);
            added.forEach(each -> each.server().accept());
            changed.forEach(each -> each.server().use(context(each.listener(), each.tls())));
            end(removed, replaced);
        }
    }

    /**
     * Checks that the listeners can be bound. Blocks.
     *
     * @throws BindException if one cannot
     */
    public static void check(List<Listener> listeners) throws BindException {
        for (Listener listener : listeners) {
            if (!listener.isUnix()) {
                address(listener).check();
            }
        }
    }

    private ListenerContext context(Listener listener, @Nullable ServerTls secured) {
        CorsConfig cors = listener.cors();
        return entry.of(
                listener.label(),
                secured,
                new TrustedProxies(listener.trustedProxies(), listener.proxyProtocol()),
                new BrowserAccess(listener.grpcWeb(), cors == null ? null : new CorsPolicy(cors, meters)));
    }

    /** The listeners that are not bound yet. */
    public List<Listener> unbound(List<Listener> listeners) {
        return listeners.stream()
                .filter(wanted ->
                        bound.stream().noneMatch(each -> each.listener().sameAddress(wanted)))
                .toList();
    }

    private static ListenAddress address(Listener listener) {
        return new ListenAddress("listener", listener.host(), listener.port(), "--port or in 'listeners'");
    }

    /**
     * Binds the listeners that are not bound yet; they accept connections once the change is committed. Blocks.
     *
     * @throws BindException if an address cannot be bound; nothing changes then
     * @throws TlsFileException if a certificate cannot be used; nothing changes then
     */
    public Change prepare(List<Listener> listeners) throws BindException, InterruptedException {
        Change change = new Change();
        for (Listener listener : listeners) {
            try {
                change.add(listener);
            } catch (BindException | InterruptedException | TlsFileException e) {
                change.undo();
                throw e;
            }
        }
        return change;
    }

    /** The bound addresses, with their actual ports. */
    public List<InetSocketAddress> addresses() {
        return bound.stream().map(each -> each.server().address()).toList();
    }

    /** Connections that were accepted last are set up when this returns. Blocks. */
    @Override
    public void close() {
        end(bound, List.of());
    }

    /** Closes listeners, and the certificates of others: after the tasks that set up the connections accepted last. */
    private void end(List<BoundListener> removed, List<BoundListener> replaced) {
        removed.forEach(each -> each.server().close());
        EventLoops.drain(loops);
        Stream.concat(removed.stream(), replaced.stream()).forEach(BoundListener::closeTls);
    }
}
