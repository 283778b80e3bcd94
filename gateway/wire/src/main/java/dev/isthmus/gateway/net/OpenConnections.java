package dev.isthmus.gateway.net;

import java.net.InetAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Counts the open connections of all clients, and their HTTP/2 requests whose body has not ended. Thread-safe. */
public final class OpenConnections {
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger unended = new AtomicInteger();
    private final Map<InetAddress, Integer> ofAddress = new ConcurrentHashMap<>();
    private final ConnectionDrain drain = new ConnectionDrain();
    private final ConnectionTable table = new ConnectionTable();
    private final ConnectionMemory memory;

    /** With the limit of memory that suits the heap. */
    public OpenConnections() {
        this(ConnectionMemory.ofHeap());
    }

    /** @param memory limits what the connections hold apart from calls */
    public OpenConnections(ConnectionMemory memory) {
        this.memory = memory;
    }

    public enum ConnectionLimit implements Labelled {
        TOTAL,
        ADDRESS,
        /** What connections hold apart from calls. */
        MEMORY
    }

    /**
     * Counts a new connection; {@link #leave} must follow, even if a limit is exceeded.
     *
     * @param peer null if it is not known
     * @return the limit that it exceeds, null if none
     */
    public @Nullable ConnectionLimit enter(@Nullable SocketAddress peer, ConnectionPolicy policy) {
        ConnectionLimit exceeded = enterAddress(peer, policy);
        return open.incrementAndGet() > policy.most() ? ConnectionLimit.TOTAL : exceeded;
    }

    /**
     * Counts a connection of this address, which was not known when it was opened; {@link #leaveAddress} must follow,
     * even if the limit is exceeded.
     *
     * @param peer null if it is not known
     * @return the limit that it exceeds, null if none
     */
    public @Nullable ConnectionLimit enterAddress(@Nullable SocketAddress peer, ConnectionPolicy policy) {
        InetAddress address = ClientNetwork.of(peer);
        int same = address == null ? 1 : ofAddress.merge(address, 1, Integer::sum);
        return policy.mostOfAddress() > 0 && same > policy.mostOfAddress() ? ConnectionLimit.ADDRESS : null;
    }

    public void leave(@Nullable SocketAddress peer) {
        open.decrementAndGet();
        leaveAddress(peer);
    }

    public void leaveAddress(@Nullable SocketAddress peer) {
        InetAddress address = ClientNetwork.of(peer);
        if (address != null) {
            ofAddress.computeIfPresent(address, (key, same) -> same == 1 ? null : same - 1);
        }
    }

    public ConnectionDrain drain() {
        return drain;
    }

    public ConnectionTable table() {
        return table;
    }

    /** What they hold apart from calls. */
    public ConnectionMemory memory() {
        return memory;
    }

    public int count() {
        return open.get();
    }

    /** Whether four fifths of the limit are open, so that idle connections are closed earlier. */
    public boolean crowded(ConnectionPolicy policy) {
        return open.get() >= policy.most() - policy.most() / 5;
    }

    /** An HTTP/2 request with a body has begun. */
    public void requestBegins() {
        unended.incrementAndGet();
    }

    public void requestEnds() {
        unended.decrementAndGet();
    }

    /**
     * Whether the limit of unended requests is exceeded, and the connection has more than its share of as many again,
     * which is at least one.
     *
     * @param own unended requests of the connection
     */
    public boolean tooManyUnended(int own, ConnectionPolicy policy) {
        int most = policy.mostUnended();
        return unended.get() > most && own > Math.max(1, most / Math.max(1, open.get()));
    }
}
