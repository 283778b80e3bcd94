package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.limit.RateCounter;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.redis.TokenStore.Grant;
import dev.isthmus.gateway.redis.TokenStore.TokenBucketKey;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Counts against a bucket that gateways share. Tokens are taken from it in small batches ahead of need, as many as the
 * last 20 ms took and at most a two-hundredth of the capacity; calls then need no answer of the store. Other calls wait
 * for one. Tokens that are not used for 100 ms are returned. While the store does not answer, calls are counted
 * otherwise. Guarded by this object's lock, which is held for short computations only.
 */
final class SharedCounter implements RateCounter {
    private static final long BATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** A refusal is not repeated without asking for longer than this: others may return tokens. */
    private static final long REFUSAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final int SMALLEST_SHARE = 200;
    private static final int MAX_WAITING = 10_000;

    private final TokenStore store;
    private final TokenBucketKey bucket;
    private final @Nullable RateCounter local;
    private final RateDecision otherwise;
    private final LongSupplier nanoTime;
    private final long largestBatch;
    private final Deque<WaitingRequest> waiting = new ArrayDeque<>();

    private long tokens;
    private boolean asking;
    private boolean watched;
    private Demand demand;
    private Refusal refusal;

    private record WaitingRequest(long amount, RateDecision.Undecided decision) {}

    /** Tokens that calls took since the last request to the store. */
    private record Demand(long since, long last, long taken) {
        Demand with(long now, long amount) {
            return new Demand(since, now, taken + amount);
        }
    }

    /** This amount or more is not available before a time. It is not asked for until another one. */
    private record Refusal(long amount, long until, long available) {
        boolean covers(long asked, long now) {
            return asked >= amount && until - now > 0;
        }
    }

    private record Request(long first, long more) {}

    /**
     * @param local counts while the store does not answer, and what the store admits; null for none
     * @param otherwise decides while the store does not answer if {@code local} is null
     */
    SharedCounter(
            TokenStore store,
            TokenBucketKey bucket,
            @Nullable RateCounter local,
            RateDecision otherwise,
            LongSupplier nanoTime) {
        this.store = store;
        this.bucket = bucket;
        this.local = local;
        this.otherwise = otherwise;
        this.nanoTime = nanoTime;
        double capacity = (double) bucket.perSecond() * bucket.burstNanos() / TimeUnit.SECONDS.toNanos(1);
        this.largestBatch = (long) (capacity / SMALLEST_SHARE);
        long now = nanoTime.getAsLong();
        this.demand = new Demand(now, now, 0);
        this.refusal = new Refusal(Long.MAX_VALUE, now, now);
    }

    @Override
    public RateDecision take(long amount) {
        if (!store.answers()) {
            return alone(amount);
        }
        RateDecision decision;
        Request request = null;
        synchronized (this) {
            long now = nanoTime.getAsLong();
            if (waiting.isEmpty() && tokens >= amount) {
                tokens -= amount;
                demand = demand.with(now, amount);
                decision = admitted(amount);
                request = asking || tokens * 2 > batch(now) ? null : request(now);
            } else if (refusal.covers(amount, now)) {
                return new RateDecision.Exceeded(refusal.available - now);
            } else if (waiting.size() >= MAX_WAITING) {
                return alone(amount);
            } else {
                demand = demand.with(now, amount);
                RateDecision.Undecided undecided = new RateDecision.Undecided();
                waiting.add(new WaitingRequest(amount, undecided));
                decision = undecided;
                request = asking ? null : request(now);
            }
        }
        send(request);
        return decision;
    }

    /** How many tokens to take ahead of need. */
    private long batch(long now) {
        long elapsed = Math.max(now - demand.since, SHORTEST_NANOS);
        return Math.min(largestBatch, (long) ((double) demand.taken * BATCH_NANOS / elapsed));
    }

    /** The next request to the store; null if none is needed. */
    private @Nullable Request request(long now) {
        long batch = batch(now);
        WaitingRequest head = waiting.peek();
        long more = waiting.stream().mapToLong(WaitingRequest::amount).sum() - (head == null ? 0 : head.amount) + batch;
        if (head == null && more <= 0) {
            return null;
        }
        asking = true;
        demand = new Demand(now, demand.last, 0);
        return new Request(head == null ? 0 : head.amount, more);
    }

    private void send(@Nullable Request request) {
        if (request != null) {
            store.take(bucket, request.first, request.more).whenComplete((grant, failure) -> {
                if (grant == null) {
                    failed();
                } else {
                    answered(grant);
                }
            });
        }
    }

    private void failed() {
        List<WaitingRequest> left;
        synchronized (this) {
            asking = false;
            left = new ArrayList<>(waiting);
            waiting.clear();
        }
        left.forEach(each -> each.decision.complete(alone(each.amount)));
    }

    private void answered(Grant grant) {
        List<Runnable> decided = new ArrayList<>();
        Request next;
        boolean watch;
        synchronized (this) {
            asking = false;
            tokens += grant.tokens();
            long now = nanoTime.getAsLong();
            long wait = grant.waitNanos();
            for (Iterator<WaitingRequest> all = waiting.iterator(); all.hasNext(); ) {
                WaitingRequest each = all.next();
                if (tokens >= each.amount) {
                    tokens -= each.amount;
                    decided.add(() -> each.decision.complete(admitted(each.amount)));
                    all.remove();
                    continue;
                }
                long until = Math.max(wait, wait(each.amount, grant.debtNanos()));
                if (until > 0) {
                    refusal = new Refusal(each.amount, now + Math.min(until, REFUSAL_NANOS), now + until);
                    decided.add(() -> each.decision.complete(new RateDecision.Exceeded(until)));
                    all.remove();
                }
                wait = 0;
            }
            next = waiting.isEmpty() ? null : request(now);
            watch = tokens > 0 && !watched;
            watched |= watch;
        }
        decided.forEach(Runnable::run);
        send(next);
        if (watch) {
            store.later(this::returnUnused, IDLE_NANOS);
        }
    }

    /** The time until an amount is available, as the bucket computes it. */
    private long wait(long amount, long debtNanos) {
        double burst = bucket.burstNanos();
        double cost = (double) amount * TimeUnit.SECONDS.toNanos(1) / bucket.perSecond();
        return (long) Math.ceil(debtNanos + Math.min(cost, burst) - burst);
    }

    private void returnUnused() {
        long unused = 0;
        boolean again;
        synchronized (this) {
            again = tokens > 0 && nanoTime.getAsLong() - demand.last < IDLE_NANOS;
            watched = again;
            if (!again) {
                unused = tokens;
                tokens = 0;
            }
        }
        if (again) {
            store.later(this::returnUnused, IDLE_NANOS);
        } else if (unused > 0) {
            store.giveBack(bucket, unused);
        }
    }

    /** The decision without the store. */
    private RateDecision alone(long amount) {
        return local == null ? otherwise : local.take(amount);
    }

    private RateDecision admitted(long amount) {
        if (local != null) {
            // So that the burst is not admitted once more if the store fails.
            local.take(amount);
        }
        return RateDecision.ADMITTED;
    }

    @Override
    public void refund(long amount) {
        if (local != null) {
            local.refund(amount);
        }
        store.giveBack(bucket, amount);
    }
}
