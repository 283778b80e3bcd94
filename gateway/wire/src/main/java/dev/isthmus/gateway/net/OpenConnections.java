package dev.isthmus.gateway.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The connections of all clients, and the HTTP/2 requests on them that have not ended. For all threads. */
public final class OpenConnections {
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger unended = new AtomicInteger();
    private final Map<InetAddress, Integer> ofAddress = new ConcurrentHashMap<>();

    /** What there are too many of. */
    public enum ConnectionLimit {
        TOTAL,
        ADDRESS;

        /** In logs and metrics. */
        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Counts a connection in; {@link #leave} follows in any case.
     *
     * @return the limit that it is beyond
     */
    public @Nullable ConnectionLimit enter(@Nullable SocketAddress peer, ConnectionPolicy policy) {
        InetAddress address = address(peer);
        int same = address == null ? 1 : ofAddress.merge(address, 1, Integer::sum);
        if (open.incrementAndGet() > policy.most()) {
            return ConnectionLimit.TOTAL;
        }
        return policy.mostOfAddress() > 0 && same > policy.mostOfAddress() ? ConnectionLimit.ADDRESS : null;
    }

    /** A connection that was counted in is closed. */
    public void leave(@Nullable SocketAddress peer) {
        open.decrementAndGet();
        InetAddress address = address(peer);
        if (address != null) {
            ofAddress.computeIfPresent(address, (key, same) -> same == 1 ? null : same - 1);
        }
    }

    private static @Nullable InetAddress address(@Nullable SocketAddress peer) {
        return peer instanceof InetSocketAddress inet ? inet.getAddress() : null;
    }

    /** Those that are open. */
    public int count() {
        return open.get();
    }

    /** Whether so many are open that idle ones had better go: four fifths of what may be. */
    public boolean crowded(ConnectionPolicy policy) {
        return open.get() >= policy.most() - policy.most() / 5;
    }

    /** An HTTP/2 request has begun whose end did not come with its head. */
    public void requestBegins() {
        unended.incrementAndGet();
    }

    /** It is complete, or will not be. */
    public void requestEnds() {
        unended.decrementAndGet();
    }

    /**
     * Whether more requests have not ended than may, and of one connection more than its share of as many again, which is one
     * at least.
     *
     * @param own those of the connection
     */
    public boolean tooManyUnended(int own, ConnectionPolicy policy) {
        int most = policy.mostUnended();
        return unended.get() > most && own > Math.max(1, most / Math.max(1, open.get()));
    }
}
