package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call to a cluster: tried at one server after the other as long as that is safe, in time and within the budget. The
 * request is kept for that until the first answer. Lives on the event loop of the call.
 */
final class UpstreamCall implements Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(UpstreamCall.class);
    /** How often a request is sent again at once that servers hand back unread, beside once for each server. */
    private static final int AT_ONCE = 3;
    /** How often it is sent again at all, beside once for each server. */
    private static final int MOST_RESENDS = 8;

    private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final AttemptResources shared;
    private final Call call;
    private final ReplayableRequest question;
    private final CircuitBreakers.@Nullable CallPermit pass;
    private final Reply client;
    private final Deadline deadline;
    private final List<Replica> tried = new ArrayList<>(2);
    private final LostReplicas lost = new LostReplicas();
    /** Tries after failures, which count against {@code retries}. */
    private int repeats;
    /** Tries after a server had handed the request back unread. */
    private int resends;

    private @Nullable Attempt current;
    private @Nullable Future<?> pause;
    private boolean over;

    private UpstreamCall(
            AttemptResources shared,
            Call call,
            ReplayableRequest question,
            CircuitBreakers.@Nullable CallPermit pass,
            Reply client) {
        this.shared = shared;
        this.call = call;
        this.question = question;
        this.pass = pass;
        this.client = client;
        this.deadline = Deadline.of(
                call, question.endless(), shared.timeout(), shared.nanoTime().getAsLong());
    }

    /**
     * Begins a call.
     *
     * @param question taken
     * @param pass of a call that is guarded; null for others
     */
    static UpstreamCall start(
            AttemptResources shared,
            Call call,
            ReplayableRequest question,
            CircuitBreakers.@Nullable CallPermit pass,
            Reply client) {
        UpstreamCall attempts = new UpstreamCall(shared, call, question, pass, client);
        Replica first = attempts.pick();
        if (first == null) {
            attempts.failed(shared.noServer(), CallOutcome.CANCELLED);
        } else {
            attempts.send(first);
        }
        return attempts;
    }

    private @Nullable Replica pick() {
        return shared.replicas().pick(call, question.model(), tried);
    }

    private void send(Replica replica) {
        tried.add(replica);
        call.context().attempted(replica.label());
        long now = shared.nanoTime().getAsLong();
        long left = deadline.left(now);
        long nanos = Math.min(left, shared.eachTryNanos());
        boolean shorter = nanos < left;
        TrackedRequest tracked = new TrackedRequest(replica, shared.metrics(), shared.nanoTime());
        Attempt next = new Attempt(this, client, tracked, shorter || !deadline.own(), shorter);
        current = next;
        boolean unchanged = question.endless() || (!shorter && tried.size() == 1);
        next.start(replica.server(), question, unchanged ? call : call.withDeadline(now + nanos), !kept());
        if (shorter && question.endless()) {
            next.within(nanos, shared.failures().timedOut(nanos, null), call.loop());
        }
    }

    private boolean kept() {
        return repeatable() || resendable();
    }

    private boolean resendable() {
        return resends < shared.replicas().all().size() + MOST_RESENDS
                && shared.rules().resends(question);
    }

    private boolean repeatable() {
        return !call.sequence()
                && repeats < shared.rules().config().retries()
                && shared.rules().keeps(question);
    }

    /** Why a failure that came before any answer may be followed by another try; null where it may not. */
    @Nullable
    RetryOn reason(OipException failure) {
        if (failure.processed() == Processed.REFUSED) {
            return resendable() ? RetryOn.UNSENT : null;
        }
        return repeatable() ? shared.rules().reason(failure, question.repeat()) : null;
    }

    /** Whether the request is still to come, and the server would take more of it. */
    boolean waitsForClient() {
        return question.waitsForClient();
    }

    /** Whether more of the request is to come. */
    boolean clientSends() {
        return question.clientSends();
    }

    /** All of the request has come: from here on the time that passes is the server's. */
    void sent() {
        if (current != null) {
            current.sent();
        }
    }

    /** The first answer has come: from here on nothing is repeated. */
    void answered() {
        question.release();
        if (pass != null) {
            pass.answered();
        }
        if (tried.size() == 1) {
            shared.budget().earn();
        }
    }

    void completed() {
        end(CallOutcome.ANSWERED);
        showHeaders();
        client.complete();
    }

    /** A try has failed before any answer. */
    void failedUnanswered(OipException failure, CallOutcome outcome) {
        lost.failed(tried.getLast(), failure);
        RetryOn reason = reason(failure);
        if (reason == null || !again(reason, failure, outcome)) {
            failed(failure, outcome);
        }
    }

    private boolean again(RetryOn reason, OipException failure, CallOutcome outcome) {
        Replica next = next();
        if (next == null || suspected()) {
            return false;
        }
        boolean unread = failure.processed() == Processed.REFUSED;
        long wait = unread ? resendPause() : tried.contains(next) ? shared.pause(repeats + 1) : 0;
        if (deadline.left(shared.nanoTime().getAsLong()) <= wait) {
            return false;
        }
        if (unread) {
            resends++;
        } else if (shared.budget().take()) {
            repeats++;
        } else {
            shared.metrics().budgetExhausted();
            return false;
        }
        shared.metrics().retried(reason);
        call.context().retried(reason.name());
        if (wait == 0) {
            send(next);
        } else {
            pause = call.loop().schedule(() -> paused(failure, outcome), wait, TimeUnit.NANOSECONDS);
        }
        return true;
    }

    /** A sequence stays where its state is. */
    private @Nullable Replica next() {
        return call.sequence() ? tried.getLast() : pick();
    }

    private long resendPause() {
        int paused = resends - shared.replicas().all().size() - AT_ONCE;
        return paused < 0 ? 0 : shared.pause(paused + 1);
    }

    /** Whether the request may be what servers die of. */
    private boolean suspected() {
        if (lost.enough()) {
            LOG.warn(
                    "upstream '{}': a request for model '{}' was lost with {} servers and is sent to no other server",
                    shared.failures().upstream(),
                    question.model().name(),
                    LostReplicas.ENOUGH);
        }
        return lost.enough();
    }

    private void paused(OipException failure, CallOutcome outcome) {
        if (over) {
            return;
        }
        Replica next = next();
        if (next == null) {
            failed(failure, outcome);
        } else {
            send(next);
        }
    }

    /** The call has failed for good. */
    void failed(OipException failure, CallOutcome outcome) {
        end(outcome);
        showHeaders();
        client.fail(shown(failure));
    }

    /**
     * Whatever failed after the client's deadline, the client is told of the deadline. A later try that runs out of the
     * call's time was given less than the client was.
     */
    private OipException shown(OipException failure) {
        long left = deadline.left(shared.nanoTime().getAsLong());
        boolean timedOut = failure.code() == ErrorCode.DEADLINE_EXCEEDED;
        boolean passed = !timedOut && deadline.own() && left <= 0;
        boolean late = timedOut && failure.processed() == Processed.MAYBE && tried.size() > 1 && left <= SLACK_NANOS;
        return passed || late ? shared.failures().timedOut(deadline.nanos(), failure) : failure;
    }

    private void showHeaders() {
        if (current != null) {
            current.showHeaders();
        }
    }

    private void end(CallOutcome outcome) {
        over = true;
        question.release();
        if (pass != null) {
            pass.ended(outcome);
        }
    }

    @Override
    public void cancel() {
        if (over) {
            return;
        }
        end(CallOutcome.CANCELLED);
        if (pause != null) {
            pause.cancel(false);
        }
        if (current != null) {
            current.cancel();
        }
    }

    @Override
    public void onReady() {
        if (!over && current != null) {
            current.onReplyReady();
        }
    }
}
