package dev.isthmus.gateway.identity;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import dev.isthmus.gateway.net.ClientNetwork;
import dev.isthmus.gateway.net.RateBucket;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How many checks of credentials that fail an address, or a /64 network of IPv6, may cause: 100 at once, and 20 per second. That of a signature
 * costs the event loop half a millisecond; successful ones are not counted. Thread-safe.
 */
public final class CredentialCheckLimit {
    static final int AT_ONCE = 100;
    static final int PER_SECOND = 20;
    private static final long BURST_NANOS =
            Duration.ofSeconds(1).multipliedBy(AT_ONCE).dividedBy(PER_SECOND).toNanos();

    private static final int MAX_ADDRESSES = 10_000;
    /** The key of senders without an IP address. */
    private static final String NO_ADDRESS = "";

    private final LongSupplier nanoTime;
    private final LoadingCache<Object, RateBucket> addresses;

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    public CredentialCheckLimit(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.addresses = Caffeine.newBuilder()
                .maximumSize(MAX_ADDRESSES)
                .expireAfterAccess(Duration.ofNanos(BURST_NANOS))
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build(address -> new RateBucket(PER_SECOND, BURST_NANOS, nanoTime.getAsLong()));
    }

    /** A check begins, and counts as failed; if it succeeds, that is to be refunded. Null after too many failures. */
    public @Nullable RateBucket begin(@Nullable SocketAddress sender) {
        InetAddress network = ClientNetwork.of(sender);
        Object address = network == null ? NO_ADDRESS : network;
        RateBucket bucket = Objects.requireNonNull(addresses.get(address));
        return bucket.take(1, nanoTime.getAsLong()) > 0 ? null : bucket;
    }
}
