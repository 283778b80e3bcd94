package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One try of a call at one server. What the server says besides is kept until it is known whether its answer counts. */
final class Attempt extends ForwardingReply {
    private final UpstreamCall attempts;
    private final TrackedRequest tracked;
    private final boolean patient;
    private final boolean whole;
    private Map<String, String> headers = Map.of();
    private Subscription underWay = Subscription.NONE;
    private @Nullable Future<?> timer;
    private boolean over;

    /**
     * A try that is about to start.
     *
     * @param patient as in {@link CallOutcome#of}
     * @param whole whether its answer is wanted whole, because it has less time than the client may take over it
     */
    Attempt(UpstreamCall attempts, Reply client, TrackedRequest tracked, boolean patient, boolean whole) {
        super(client);
        this.attempts = attempts;
        this.tracked = tracked;
        this.patient = patient;
        this.whole = whole;
    }

    /** Sends the question. The end may come before this returns. */
    void start(Upstream server, ReplayableRequest question, Call call, boolean last) {
        Subscription started = question.send(server, call, this, last);
        if (over) {
            started.cancel();
        } else {
            underWay = started;
        }
    }

    /** Ends the try with this failure unless an answer comes in time. */
    void within(long nanos, OipException late, ScheduledExecutorService loop) {
        if (!over && !tracked.answered()) {
            timer = loop.schedule(() -> abandon(late), nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void abandon(OipException failure) {
        if (!over) {
            underWay.cancel();
            fail(failure);
        }
    }

    /** Nobody waits for it any more. */
    void cancel() {
        if (!over) {
            end(CallOutcome.CANCELLED);
            underWay.cancel();
        }
    }

    void onReplyReady() {
        underWay.onReady();
    }

    /** All of the request has been sent. */
    void sent() {
        tracked.sent();
    }

    private void end(CallOutcome outcome) {
        over = true;
        stopTimer();
        tracked.end(outcome, attempts.clientSends());
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    /** Shows the client what the server said besides its answer. */
    void showHeaders() {
        if (!headers.isEmpty()) {
            super.headers(headers);
            headers = Map.of();
        }
    }

    @Override
    public void headers(Map<String, String> more) {
        if (over || more.isEmpty()) {
            return;
        }
        if (tracked.answered()) {
            super.headers(more);
            return;
        }
        Map<String, String> all = new LinkedHashMap<>(headers);
        all.putAll(more);
        headers = all;
    }

    @Override
    public void message(ReplyMessage answer) {
        if (over) {
            answer.release();
            return;
        }
        if (!tracked.answered()) {
            if (answer instanceof ReplyMessage.StreamError error && attempts.reason(error.failure()) != null) {
                abandon(error.failure());
                return;
            }
            stopTimer();
            tracked.answer();
            attempts.answered();
            showHeaders();
        }
        super.message(answer);
    }

    @Override
    public void complete() {
        if (!over) {
            end(CallOutcome.ANSWERED);
            attempts.completed();
        }
    }

    @Override
    public void fail(OipException failure) {
        if (over) {
            return;
        }
        CallOutcome outcome = CallOutcome.of(failure, patient && !waitsForClient());
        end(outcome);
        if (tracked.answered()) {
            attempts.failed(failure, outcome);
        } else {
            attempts.failedUnanswered(failure, outcome);
        }
    }

    /** Whether the client is slow, to take the answer or to send the request, so that the time which has passed is its own. */
    private boolean waitsForClient() {
        return tracked.answered() ? !isReady() : attempts.waitsForClient();
    }

    @Override
    public boolean takesParts(Wire wire, long length) {
        return !whole && super.takesParts(wire, length);
    }
}
