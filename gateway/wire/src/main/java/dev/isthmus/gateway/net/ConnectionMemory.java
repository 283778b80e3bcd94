package dev.isthmus.gateway.net;

import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits the bytes that the connections of all clients hold apart from calls: heads of requests until the body has
 * ended, complete or not, handshakes, and what HTTP/2 remembers of earlier heads. Beyond the limit connections are
 * ended, those without a call that is being served first, and among them the one that has made no progress for longest.
 * Thread-safe.
 */
public final class ConnectionMemory {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionMemory.class);

    /** The share of the heap: one in this many bytes. */
    private static final int HEAP_SHARE = 8;

    private static final long MOST = 64L << 20;

    /** As many connections are ended as hold one in this many bytes of the limit, so that this is seldom needed. */
    private static final int FREED_SHARE = 8;

    /** Of the limit: beyond that, a connection that holds more ends at once, whatever others do. */
    private static final int OVERSHOOT = 2;

    private static final Comparator<Candidate> LONGEST_WAITING_FIRST = Comparator.comparing(Candidate::serving)
            .thenComparing((one, other) -> Long.signum(one.since - other.since));

    private final long limit;
    private final AtomicLong held = new AtomicLong();
    /** What those connections hold that are being ended. */
    private final AtomicLong ending = new AtomicLong();

    private final Set<ConnectionShare> holders = ConcurrentHashMap.newKeySet();
    private final ReentrantLock search = new ReentrantLock();

    /** @param limit in bytes */
    public ConnectionMemory(long limit) {
        this.limit = limit;
    }

    /** The limit that suits the maximum heap size: an eighth of it, at most 64 MiB. */
    public static ConnectionMemory ofHeap() {
        return new ConnectionMemory(Math.min(MOST, Runtime.getRuntime().maxMemory() / HEAP_SHARE));
    }

    /** What all connections hold now, in bytes. */
    public long held() {
        return held.get();
    }

    /** The limit, in bytes. */
    public long limit() {
        return limit;
    }

    /** The share of a connection, which {@code end} ends, called on the event loop. */
    public ConnectionShare share(EventLoop loop, Runnable end) {
        return new ConnectionShare(loop, end);
    }

    /** A connection as it was when the search began. */
    private record Candidate(ConnectionShare share, long bytes, boolean serving, long since) {}

    private void makeSpace(ConnectionShare growing) {
        if (search.tryLock()) {
            List<ConnectionShare> chosen;
            try {
                long excess = held.get() - ending.get() - limit;
                // Another event loop may have made space.
                chosen = excess > 0 ? choose(excess + limit / FREED_SHARE) : List.of();
            } finally {
                search.unlock();
            }
            if (!chosen.isEmpty()) {
                RepeatingLogEvent.warn(LOG)
                        .log(
                                "{} client connections are closed: all of them hold more than {} bytes for requests that"
                                        + " are incomplete",
                                chosen.size(),
                                limit);
                chosen.forEach(ConnectionShare::end);
            }
        }
        if (held.get() > OVERSHOOT * limit && growing.claim() > 0) {
            growing.end();
        }
    }

    /** Small holders are spared, as many of them would have to be ended. */
    private List<ConnectionShare> choose(long excess) {
        long least = held.get() / (2L * Math.max(1, holders.size()));
        List<Candidate> candidates = new ArrayList<>();
        for (ConnectionShare each : holders) {
            if (each.bytes >= least) {
                candidates.add(new Candidate(each, each.bytes, each.serving, each.since));
            }
        }
        candidates.sort(LONGEST_WAITING_FIRST);
        List<ConnectionShare> chosen = new ArrayList<>();
        long left = excess;
        for (Candidate each : candidates) {
            if (left <= 0) {
                break;
            }
            long freed = each.share.claim();
            if (freed > 0) {
                left -= freed;
                chosen.add(each.share);
            }
        }
        return chosen;
    }

    /** What one connection holds. Set on its event loop. */
    public final class ConnectionShare {
        private final EventLoop loop;
        private final Runnable end;
        private volatile long bytes;
        private volatile boolean serving;
        private volatile long since;
        /** What it held when it was chosen to be ended; 0 if it was not. */
        private long claimed;

        private ConnectionShare(EventLoop loop, Runnable end) {
            this.loop = loop;
            this.end = end;
        }

        public long bytes() {
            return bytes;
        }

        /**
         * Sets what the connection holds. It may be ended before this returns.
         *
         * @param calls whether a request is being served
         * @param progress when the connection last made progress, from a clock that all connections share
         */
        public void set(long holds, boolean calls, long progress) {
            long more = holds - bytes;
            serving = calls;
            since = progress;
            bytes = holds;
            if (more == 0) {
                return;
            }
            if (holds == 0) {
                holders.remove(this);
            } else if (holds == more) {
                holders.add(this);
            }
            if (held.addAndGet(more) - ending.get() > limit && more > 0) {
                makeSpace(this);
            }
        }

        /** The connection is closed. Idempotent. */
        public void release() {
            // In this order: what holds nothing can no longer be chosen.
            set(0, false, since);
            spare();
        }

        /** The connection was chosen to be ended and is not. */
        public synchronized void spare() {
            ending.addAndGet(-claimed);
            claimed = 0;
        }

        /** Chooses the connection to be ended; returns what that frees, 0 if it is chosen already or holds nothing. */
        private synchronized long claim() {
            if (claimed > 0 || bytes == 0) {
                return 0;
            }
            claimed = bytes;
            ending.addAndGet(claimed);
            return claimed;
        }

        private void end() {
            if (loop.inEventLoop()) {
                end.run();
            } else {
                EventLoops.handOver(loop, end);
            }
        }
    }
}
