package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.fleet.Cluster.AttemptResources;
import dev.isthmus.gateway.net.ClientNetwork;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.queue.FairQueue;
import dev.isthmus.gateway.queue.FairQueue.QueuedEntry;
import dev.isthmus.gateway.queue.FairQueue.WaitEstimate;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.Units;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import io.micrometer.core.instrument.Timer;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Admits the calls of a cluster: as long as there are places and servers with room, at once; otherwise they wait, and
 * whenever a call has ended, the next one by {@link FairQueue} is sent on its own event loop. While nothing waits, the
 * lock is not taken.
 *
 * <p>No wake-up is lost: a call is put into the queue before it is asked once more whether one can be sent, and a place
 * is free before it is asked whether calls wait.
 */
final class CallQueue {
    /** The caller of calls that the gateway makes itself, or whose client is not known. */
    private static final Object NOBODY = new Object();

    private final QueueConfig settings;
    private final CircuitBreakers places;
    private final AttemptResources shared;
    private final Timer waits;
    /** The number of calls that each caller has under way, if it has any. */
    private final ConcurrentHashMap<Object, Integer> underWay = new ConcurrentHashMap<>();

    /** The changes of what follows are guarded by this object. */
    private final FairQueue<WaitingCall> waiting;

    private final WaitEstimate estimate = new WaitEstimate();
    private volatile int size;
    /** Calls that were taken from the queue and do not count on a server yet. */
    private int starting;

    private boolean closed;

    CallQueue(QueueConfig settings, CircuitBreakers places, AttemptResources shared) {
        this.settings = settings;
        this.places = places;
        this.shared = shared;
        this.waiting = new FairQueue<>(settings.shares());
        this.waits = shared.metrics().queue(this);
        places.whenReleased(this::released);
    }

    /** How many calls wait. */
    int size() {
        return size;
    }

    /** Whether a caller's calls are in the order of their priorities. */
    boolean byPriority() {
        return settings.priorityLevels() > 0;
    }

    /** @param request taken; not endless */
    Subscription send(Call call, UpstreamRequest request, Reply client) {
        Object caller = caller(call.context());
        if (size == 0) {
            Replica first = shared.replicas().pickWithRoom(call, request.model(), List.of());
            if ((first != null || noServer()) && take(caller)) {
                return begin(call, request, client, caller, first);
            }
        }
        return await(call, request, client, caller);
    }

    private static Object caller(CallContext context) {
        String name = context.principal().name();
        if (!name.isEmpty()) {
            return name;
        }
        InetAddress network = ClientNetwork.of(context.peer());
        return network == null ? NOBODY : network;
    }

    private boolean noServer() {
        return shared.replicas().all().isEmpty();
    }

    private boolean take(Object caller) {
        if (!mayTake(caller, freePlaces(), shared.replicas().room()) || !places.takePlace()) {
            return false;
        }
        began(caller);
        return true;
    }

    private int freePlaces() {
        return places.maxCalls() - places.activeCalls();
    }

    /**
     * Whether more is free than is reserved, or the caller has so few calls that it may use that.
     *
     * @param free places
     * @param room of the servers
     */
    private boolean mayTake(Object caller, int free, int room) {
        int limit = Math.min(places.maxCalls(), shared.replicas().concurrencyLimit());
        int reserved = (int) (settings.reserved() * limit);
        return reserved == 0 || Math.min(free, room) > reserved || underWay.getOrDefault(caller, 0) < reserved;
    }

    private void began(Object caller) {
        if (settings.reserved() > 0) {
            underWay.merge(caller, 1, Integer::sum);
        }
    }

    private void ended(Object caller) {
        if (settings.reserved() > 0) {
            underWay.computeIfPresent(caller, (name, count) -> count == 1 ? null : count - 1);
        }
    }

    /** Sends a call that has a place. */
    private Subscription begin(
            Call call, UpstreamRequest request, Reply client, Object caller, @Nullable Replica first) {
        CircuitBreakers.CallPermit permit;
        try {
            permit = places.admit(false, () -> ended(caller));
        } catch (OipException refused) {
            return Upstream.refuse(request, refused, client);
        }
        return UpstreamCall.start(shared, call, request, permit, first, client);
    }

    private Subscription await(Call call, UpstreamRequest request, Reply client, Object caller) {
        long now = shared.nanoTime().getAsLong();
        long nanos = settings.maxWait().toNanos();
        if (call.hasDeadline()) {
            nanos = Math.min(nanos, call.deadlineNanos() - now);
        }
        WaitingCall waiter = new WaitingCall(call, request, caller, client, now);
        OipException refused = add(waiter, nanos);
        if (refused != null) {
            return Upstream.refuse(request, refused, client);
        }
        waiter.await(nanos);
        startNext();
        return waiter;
    }

    /** A call of the next lower level is overtaken by calls that come within a part of {@code max_wait}. */
    private long rank(CallContext context, long now) {
        int levels = settings.priorityLevels();
        if (levels == 0) {
            return now;
        }
        long asked = context.priority();
        long level = asked == 0 || asked > levels ? levels / 2 + 1 : asked;
        return now + (level - 1) * (settings.maxWait().toNanos() / levels);
    }

    private int weight(Call call) {
        Principal principal = call.context().principal();
        Integer own = settings.weights().get(principal.name());
        if (own != null) {
            return own;
        }
        int highest = 0;
        for (String group : principal.groups()) {
            highest = Math.max(highest, settings.groupWeights().getOrDefault(group, 0));
        }
        return Math.max(1, highest);
    }

    /** @return why it is refused; null if it waits */
    private synchronized @Nullable OipException add(WaitingCall waiter, long nanos) {
        if (closed) {
            return shared.failures().closed();
        }
        Object caller = waiter.caller;
        int weight = weight(waiter.call);
        String model = waiter.request.model().name();
        long expected = estimate.nanos(waiting.ahead(caller, weight, model));
        if (nanos <= 0 || (!waiting.isEmpty() && expected > nanos)) {
            return shared.metrics()
                    .rejected(
                            FailureCause.QUEUE_TOO_LATE,
                            "would start the call after its deadline or max_wait",
                            Duration.ofNanos(Math.max(expected, ClusterMetrics.RETRY_AFTER.toNanos())));
        }
        if (waiting.waitingOf(caller) >= settings.maxWaitingPerCaller()) {
            return shared.metrics()
                    .rejected(
                            FailureCause.QUEUE_CALLER_FULL,
                            "has too many waiting calls of this caller (limit " + settings.maxWaitingPerCaller() + ")",
                            ClusterMetrics.RETRY_AFTER);
        }
        if (waiting.size() >= settings.maxWaiting()) {
            String tooMany = "has too many waiting calls (limit " + settings.maxWaiting() + ")";
            WaitingCall displaced = waiting.displaceFor(caller, weight);
            if (displaced == null) {
                return shared.metrics().rejected(FailureCause.QUEUE_FULL, tooMany, ClusterMetrics.RETRY_AFTER);
            }
            displaced.entry = null;
            displaced.refuse(
                    shared.metrics().rejected(FailureCause.QUEUE_DISPLACED, tooMany, ClusterMetrics.RETRY_AFTER));
        }
        enter(waiter, weight);
        return null;
    }

    private void enter(WaitingCall waiter, int weight) {
        if (waiting.isEmpty()) {
            estimate.began(shared.nanoTime().getAsLong());
        }
        String model = waiter.request.model().name();
        waiter.entry = waiting.add(waiter, waiter.caller, weight, model, waiter.rank);
        size = waiting.size();
    }

    /** A call has ended. */
    private void released() {
        if (size > 0) {
            startNext();
        }
    }

    private void startNext() {
        for (WaitingCall next = next(); next != null; next = next()) {
            if (!next.start()) {
                takeBack(next);
            }
        }
    }

    private synchronized @Nullable WaitingCall next() {
        // Besides for the calls that are starting.
        boolean room = noServer() || shared.replicas().room() > starting;
        if (waiting.isEmpty() || !room || !places.takePlace()) {
            return null;
        }
        WaitingCall next = waiting.poll(this::startable);
        if (next == null) {
            places.giveBack();
            return null;
        }
        next.entry = null;
        size = waiting.size();
        starting++;
        began(next.caller);
        estimate.taken(shared.nanoTime().getAsLong());
        return next;
    }

    private boolean startable(WaitingCall next) {
        // It has a place already.
        return mayTake(next.caller, freePlaces() + 1, shared.replicas().room() - starting)
                && (noServer() || shared.replicas().pickWithRoom(next.call, next.request.model(), List.of()) != null);
    }

    /**
     * Sends a call that was taken from the queue.
     *
     * @return null if it waits again: others were faster
     */
    private @Nullable Subscription send(WaitingCall next) {
        Replica first = shared.replicas().pickWithRoom(next.call, next.request.model(), List.of());
        if (first == null && !noServer()) {
            giveBack(next, true);
            return null;
        }
        waits.record(shared.nanoTime().getAsLong() - next.since, TimeUnit.NANOSECONDS);
        try {
            return begin(next.call, next.request, next.client, next.caller, first);
        } finally {
            synchronized (this) {
                starting--;
            }
            released();
        }
    }

    /** The place of a call that was taken from the queue. */
    private synchronized void takeBack(WaitingCall next) {
        starting--;
        ended(next.caller);
        places.giveBack();
    }

    /** A call that was taken from the queue is not sent. */
    private void giveBack(WaitingCall next, boolean waits) {
        synchronized (this) {
            takeBack(next);
            if (waits && closed) {
                next.refuse(shared.failures().closed());
            } else if (waits) {
                enter(next, weight(next.call));
            }
        }
        released();
    }

    /** Removes a call; false if it was taken. */
    private synchronized boolean remove(WaitingCall waiter) {
        boolean removed = waiter.entry != null && waiting.remove(waiter.entry);
        waiter.entry = null;
        size = waiting.size();
        return removed;
    }

    /** The failure of a call that has waited as long as it may. */
    private OipException expired(WaitingCall waiter) {
        Call call = waiter.call;
        if (call.hasDeadline() && call.deadlineNanos() - shared.nanoTime().getAsLong() <= 0) {
            shared.metrics().rejected(FailureCause.QUEUE_TIMEOUT);
            String what =
                    "upstream '" + shared.failures().upstream() + "' had no place for the call before its deadline";
            return OipException.ofUpstream(
                    ErrorCode.DEADLINE_EXCEEDED, FailureCause.QUEUE_TIMEOUT, what, null, Processed.NO);
        }
        return shared.metrics()
                .rejected(
                        FailureCause.QUEUE_TIMEOUT,
                        "had no place for the call within " + Units.written(settings.maxWait()),
                        ClusterMetrics.RETRY_AFTER);
    }

    /** Fails all waiting calls, and those that come. */
    void close() {
        List<WaitingCall> all;
        synchronized (this) {
            closed = true;
            all = waiting.drain();
            all.forEach(waiter -> waiter.entry = null);
            size = 0;
        }
        all.forEach(waiter -> waiter.refuse(shared.failures().closed()));
    }

    /**
     * A call that waits in the queue, and then is one to the cluster. It holds its request until then. Used on the
     * call's event loop, except for {@link #start} and {@link #refuse}, which anybody calls who has taken it from the queue.
     */
    private final class WaitingCall implements Subscription {
        private final Call call;
        private final UpstreamRequest request;
        private final Object caller;
        private final Reply client;
        private final long since;
        /** Among the calls of its caller. */
        private final long rank;
        /** Guarded by the queue's lock; null while it is in no queue. */
        private @Nullable QueuedEntry<WaitingCall> entry;

        private @Nullable Future<?> timer;
        private @Nullable Subscription sent;
        private boolean ended;

        /**
         * A call that is not in the queue yet.
         *
         * @param request taken
         * @param since when the call came
         */
        WaitingCall(Call call, UpstreamRequest request, Object caller, Reply client, long since) {
            this.call = call;
            this.request = request;
            this.caller = caller;
            this.client = client;
            this.since = since;
            this.rank = rank(call.context(), since);
        }

        /** Waits for at most this time. */
        void await(long nanos) {
            timer = call.loop().schedule(this::expire, Math.max(0, nanos), TimeUnit.NANOSECONDS);
        }

        private void expire() {
            timer = null;
            if (CallQueue.this.remove(this)) {
                fail(expired(this));
            }
        }

        /** It was taken from the queue, with a place. Returns false, and releases it, if its event loop has ended. */
        boolean start() {
            return onLoop(this::send);
        }

        private boolean onLoop(Runnable task) {
            boolean runs = EventLoops.handOver(call.loop(), task);
            if (!runs) {
                request.release();
            }
            return runs;
        }

        private void send() {
            if (ended) {
                giveBack(this, false);
                return;
            }
            try {
                sent = CallQueue.this.send(this);
            } catch (RuntimeException | OutOfMemoryError e) {
                ended = true;
                stopTimer();
                client.fail(CallLog.failureOf(e, call.context()));
            }
            if (sent != null) {
                stopTimer();
            } else if (timer == null && !ended) {
                expire();
            }
        }

        /** It was taken from the queue, and gets no place. */
        void refuse(OipException failure) {
            onLoop(() -> fail(failure));
        }

        private void fail(OipException failure) {
            if (!ended) {
                end();
                client.fail(failure);
            }
        }

        private void end() {
            ended = true;
            stopTimer();
            request.release();
        }

        private void stopTimer() {
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
        }

        @Override
        public void cancel() {
            if (sent != null) {
                sent.cancel();
            } else if (!ended) {
                end();
                CallQueue.this.remove(this);
            }
        }

        @Override
        public void onReady() {
            if (sent != null) {
                sent.onReady();
            }
        }
    }
}
