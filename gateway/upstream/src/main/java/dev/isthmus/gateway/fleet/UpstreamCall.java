package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.Cluster.AttemptResources;
import dev.isthmus.gateway.fleet.HedgePolicy.HedgedAttempts;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call to a cluster: tries one server after another while that is safe, before the deadline and within the retry
 * budget. The request is kept until the first response message. Used on the event loop of the call.
 */
final class UpstreamCall implements Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(UpstreamCall.class);
    /** Resends without a pause after servers refused the request unprocessed, in addition to one for each server. */
    private static final int IMMEDIATE_RESENDS = 3;
    /** Resends in total, in addition to one for each server. */
    private static final int MAX_RESENDS = 8;
    /** From this number of lost servers on, the request itself is suspected. */
    private static final int MAX_LOST = 2;

    private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final AttemptResources shared;
    private final Call call;
    private final UpstreamRequest request;
    private final CircuitBreakers.@Nullable CallPermit permit;
    private final Reply client;
    private final long start;
    private final List<Replica> tried = new ArrayList<>(2);
    /** Connections lost while a server processed the request, and servers that timed out then. */
    private int lostConnections;

    private List<Replica> timedOutReplicas = List.of();
    /** Attempts after failures; they count against {@code retries}. */
    private int retries;
    /** Attempts after a server refused the request unprocessed. */
    private int resends;

    /** Whether the request was sent without keeping it, or released. */
    private boolean taken;

    private @Nullable Attempt current;
    /** Null if the call is not hedged. */
    private final @Nullable HedgedAttempts hedged;

    private @Nullable Future<?> pause;
    private boolean ended;

    private UpstreamCall(
            AttemptResources shared,
            Call call,
            UpstreamRequest request,
            CircuitBreakers.@Nullable CallPermit permit,
            Reply client,
            long now) {
        this.shared = shared;
        this.call = call;
        this.request = request;
        this.permit = permit;
        this.client = client;
        this.start = now;
        HedgePolicy policy = shared.hedges();
        this.hedged = policy != null && permit != null && policy.hedges(call, request)
                ? new HedgedAttempts(policy, request.model())
                : null;
    }

    /**
     * Begins a call.
     *
     * @param request taken
     * @param permit null if the call is not subject to the circuit breaker
     * @param picked the first server; null if it is not chosen yet
     */
    static UpstreamCall start(
            AttemptResources shared,
            Call call,
            UpstreamRequest request,
            CircuitBreakers.@Nullable CallPermit permit,
            @Nullable Replica picked,
            Reply client) {
        long now = shared.nanoTime().getAsLong();
        UpstreamCall upstreamCall = new UpstreamCall(shared, call, request, permit, client, now);
        if (request instanceof UpstreamRequest.InferenceInParts parts) {
            parts.beforeEnd(upstreamCall::sent);
        }
        Replica first = picked == null ? upstreamCall.pick() : picked;
        if (first == null) {
            boolean none = shared.replicas().all().isEmpty();
            upstreamCall.failed(none ? shared.noServer() : shared.noRoom(), CallOutcome.CANCELLED);
        } else {
            upstreamCall.send(first, now);
            upstreamCall.firstSent();
        }
        return upstreamCall;
    }

    private @Nullable Replica pick() {
        ReplicaSet replicas = shared.replicas();
        return permit == null
                ? replicas.pick(call, request.model(), tried)
                : replicas.pickWithRoom(call, request.model(), tried);
    }

    private void send(Replica replica, long now) {
        boolean kept = repeatable() || resendable() || (hedged != null && tried.isEmpty());
        taken = !kept;
        attempt(replica, kept ? request.retained() : request, now);
    }

    /** @param sent taken */
    private void attempt(Replica replica, UpstreamRequest sent, long now) {
        tried.add(replica);
        TraceSpan span = shared.attempted(call, replica, request.model());
        long left = remaining(now);
        long nanos = Math.min(left, shared.attemptTimeoutNanos());
        boolean shorter = nanos < left;
        boolean fullTimeout = shorter || !call.hasDeadline();
        Attempt next = new Attempt(this, shared, replica, span, client, now, fullTimeout, shorter, permit != null);
        current = next;
        boolean keepsDeadline = request.endless() || (!shorter && tried.size() == 1);
        next.start(replica.server(), sent, span.propagated(keepsDeadline ? call : call.withDeadline(now + nanos)));
        if (shorter && request.endless()) {
            next.startTimer(nanos, shared.failures().timedOut(nanos, null), call.loop());
        }
    }

    private void firstSent() {
        if (hedged != null && !ended && !taken) {
            hedged.sent(call, remaining(start), this::hedge);
        }
    }

    /** Sends the request to another server, too: the first one takes longer than usual. */
    private void hedge() {
        Attempt first = current;
        if (hedged == null || first == null || first.ended() || taken) {
            return;
        }
        Replica other = pick();
        if (hedged.allows(other, tried) && other != null) {
            call.context().retried("HEDGE");
            hedged.hedged(first);
            attempt(other, request.retained(), shared.nanoTime().getAsLong());
        }
    }

    /** Nanoseconds until the client's deadline or, without one, the end of the upstream's timeout. */
    private long remaining(long now) {
        if (call.hasDeadline()) {
            return call.deadlineNanos() - now;
        }
        return request.endless() ? Long.MAX_VALUE : start + shared.timeout().toNanos() - now;
    }

    private boolean resendable() {
        return resends < shared.replicas().all().size() + MAX_RESENDS
                && shared.retryPolicy().resends(request);
    }

    private boolean repeatable() {
        return !call.sequence()
                && retries < shared.retryPolicy().retries()
                && shared.retryPolicy().keeps(request);
    }

    /** Why a server's failure before any response may be followed by another attempt; null if it may not. */
    @Nullable
    RetryOn reason(Replica replica, OipException failure) {
        if (taken || request.begun()) {
            return null;
        }
        if (failure.processed() == Processed.REFUSED) {
            return resendable() ? RetryOn.UNSENT : null;
        }
        boolean elsewhere =
                permit != null && tried.size() == 1 && shared.replicas().isElsewhere(replica, request.model(), failure);
        return repeatable() ? shared.retryPolicy().reason(failure, elsewhere, request.repeat()) : null;
    }

    /** Whether its affinity decides which server gets it. */
    boolean bound() {
        return call.affinity() != Call.NO_AFFINITY;
    }

    UpstreamRequest request() {
        return request;
    }

    /** The request is complete: from here on, elapsed time is the server's. */
    private void sent() {
        if (current != null) {
            current.sent();
        }
    }

    /** The first response message has arrived: nothing is retried from here on. */
    void responded(Attempt attempt) {
        answered(attempt);
        release();
        if (permit != null) {
            permit.responded();
        }
        if (tried.size() == 1) {
            shared.budget().earn();
        }
    }

    /** What follows is this attempt's. */
    private void answered(Attempt attempt) {
        if (hedged != null) {
            hedged.answered(attempt, current);
            current = attempt;
        }
    }

    void completed(Attempt attempt) {
        if (!taken) {
            answered(attempt);
        }
        end(CallOutcome.ANSWERED);
        forwardHeaders();
        client.complete();
    }

    /** An attempt has failed before any response. */
    void failedBeforeResponse(Attempt attempt, OipException failure, CallOutcome outcome) {
        attempt.answered(request.model(), failure);
        RetryOn kind = RetryPolicy.kind(failure);
        if (kind == RetryOn.LOST) {
            lostConnections++;
        } else if (kind == RetryOn.TIMEOUT) {
            timedOutReplicas = timedOutReplicas.isEmpty() ? new ArrayList<>(2) : timedOutReplicas;
            timedOutReplicas.add(attempt.replica());
        }
        Attempt other = hedged == null ? null : hedged.other(attempt, current, outcome == CallOutcome.ANSWERED);
        current = other == null ? attempt : other;
        if (other != null) {
            return;
        }
        RetryOn reason = reason(attempt.replica(), failure);
        if (reason == null || !retry(reason, failure, outcome)) {
            failed(failure, outcome);
        }
    }

    private boolean retry(RetryOn reason, OipException failure, CallOutcome outcome) {
        Replica next = next();
        if (next == null || suspected() || (ReplicaSet.denied(failure) && tried.contains(next))) {
            return false;
        }
        boolean unread = failure.processed() == Processed.REFUSED;
        long now = shared.nanoTime().getAsLong();
        long wait = unread ? resendPause() : tried.contains(next) ? pause(failure) : 0;
        if (remaining(now) <= wait) {
            return false;
        }
        if (unread) {
            resends++;
        } else if (neverSent(failure, next) || shared.budget().take()) {
            retries++;
        } else {
            shared.metrics().budgetExhausted();
            return false;
        }
        shared.metrics().retried(reason);
        call.context().retried(reason.name());
        if (wait == 0) {
            send(next, now);
        } else {
            pause = call.loop().schedule(() -> paused(failure, outcome), wait, TimeUnit.NANOSECONDS);
        }
        return true;
    }

    /** Before the same server gets the request again: a backoff, or the time that it asked for if that is longer. */
    private long pause(OipException failure) {
        long asked = failure.serverDelay().map(Duration::toNanos).orElse(0L);
        return Math.max(asked, shared.backoff(retries + 1));
    }

    /** Whether no server has been sent the request, and another one is next: no load is added. */
    private boolean neverSent(OipException failure, Replica next) {
        return failure.processed() == Processed.NO
                && !tried.contains(next)
                && shared.retryPolicy().budget() > 0;
    }

    /** A sequence stays on the server that has its state. */
    private @Nullable Replica next() {
        return call.sequence() ? tried.getLast() : pick();
    }

    private long resendPause() {
        int paused = resends - shared.replicas().all().size() - IMMEDIATE_RESENDS;
        return paused < 0 ? 0 : shared.backoff(paused + 1);
    }

    /** Whether the request itself may crash servers: those that timed out and were found not ready afterwards count. */
    private boolean suspected() {
        long notReady = timedOutReplicas.stream()
                .filter(server -> server.readiness().server() == ReplicaReadiness.ServerState.NOT_READY)
                .count();
        boolean suspected = lostConnections + notReady >= MAX_LOST;
        if (suspected) {
            CallLog.of(RepeatingLogEvent.warn(LOG), call.context())
                    .log(
                            "upstream '{}': {} servers were lost while processing a request for model '{}'; it is not"
                                    + " retried; it may crash them: see their logs",
                            shared.failures().upstream(),
                            MAX_LOST,
                            request.model().name());
        }
        return suspected;
    }

    private void paused(OipException failure, CallOutcome outcome) {
        if (ended) {
            return;
        }
        Replica next = next();
        if (next == null) {
            failed(failure, outcome);
        } else {
            send(next, shared.nanoTime().getAsLong());
        }
    }

    /** The call has failed for good. */
    void failed(OipException failure, CallOutcome outcome) {
        end(outcome);
        forwardHeaders();
        client.fail(clientFailure(failure));
    }

    /**
     * After the client's deadline, any failure is reported as exceeding the deadline. The same holds if a later attempt
     * times out with the call: it had less time than the client allowed.
     */
    private OipException clientFailure(OipException failure) {
        long left = remaining(shared.nanoTime().getAsLong());
        boolean timedOut = failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        boolean deadlinePassed = !timedOut && call.hasDeadline() && left <= 0;
        boolean lastAttemptTimedOut =
                timedOut && failure.processed() == Processed.MAYBE && tried.size() > 1 && left <= SLACK_NANOS;
        return deadlinePassed || lastAttemptTimedOut ? shared.failures().timedOut(remaining(start), failure) : failure;
    }

    private void forwardHeaders() {
        if (current != null) {
            current.passHeaders();
        }
    }

    private void end(CallOutcome outcome) {
        ended = true;
        release();
        if (permit != null) {
            permit.release(outcome);
        }
    }

    private void release() {
        if (!taken) {
            taken = true;
            request.release();
        }
    }

    @Override
    public void cancel() {
        if (ended) {
            return;
        }
        ended = true;
        if (pause != null) {
            pause.cancel(false);
        }
        if (current != null) {
            current.cancel();
        }
        if (hedged != null) {
            hedged.cancel();
        }
        // Last, when the servers have room again.
        end(CallOutcome.CANCELLED);
    }

    @Override
    public void onReady() {
        if (!ended && current != null) {
            current.onReplyReady();
        }
    }
}
