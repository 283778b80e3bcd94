package dev.isthmus.gateway.call;

import dev.isthmus.gateway.call.ExchangeRequest.Transformation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.Metrics;
import io.netty.util.AsciiString;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response, on their way through the {@link Layers}: the client's {@link #request} goes in, and what
 * is behind the layers replies here. It keeps the context of the call, and ends exactly once.
 * Confined to the event loop of the call.
 */
public final class Exchange implements Reply {
    private static final @Nullable Object[] NOTHING = {};

    final CallContext context;
    final @Nullable Exchange stream;
    private @Nullable Call call;
    private @Nullable Object[] slots = NOTHING;

    long bytes;
    boolean finished;
    boolean cancelled;

    @Nullable
    OipException failure;

    final ExchangeRequest request;
    final Reply client;
    private final Layers layers;
    private boolean targeted;
    private boolean responding;
    private @Nullable OipException failureInResponse;
    /** When a message of a stream was responded to, last. */
    private long respondedNanos = CallContext.NOT_YET;

    Exchange(
            Layers layers,
            Function<Exchange, RequestSink> handler,
            @Nullable Call call,
            CallContext context,
            @Nullable Exchange stream,
            Reply client) {
        this.context = context;
        this.call = call;
        this.stream = stream;
        this.layers = layers;
        this.request = new ExchangeRequest(this, layers, handler);
        this.client = client;
    }

    /** An exchange that passes no layers and drops its response, to show a call to one layer. */
    public static Exchange of(CallContext context) {
        Function<Exchange, RequestSink> none = exchange -> RequestSink.ENDED;
        Layers layers = new Layers(List.of(), none, Metrics.globalRegistry, System::nanoTime);
        return new Exchange(layers, none, null, context, null, Reply.DISCARDING);
    }

    /**
     * The exchange of one message of this stream, which passes the same layers when it is opened.
     *
     * @param behind what is behind the layers
     * @param reply receives its response
     */
    public Exchange ofMessage(Call message, Function<Exchange, RequestSink> behind, Reply reply) {
        CallContext own = context.ofMessage(layers.now());
        return new Exchange(layers, behind, message.with(own), own, this, reply);
    }

    /** A message of this stream, of which nothing is known, has failed. */
    public void rejectMessage(OipException refusal, Reply reply) {
        Function<Exchange, RequestSink> none = exchange -> RequestSink.ENDED;
        new Exchange(layers, none, null, context.ofMessage(layers.now()), this, reply).fail(refusal);
    }

    /** The call; there is none for a request that was rejected before it became one. */
    public Call call() {
        return Objects.requireNonNull(call);
    }

    /** Goes on with a changed call. */
    public void call(Call changed) {
        call = changed;
    }

    /** Whether it is a call, and not a request that was rejected before it became one. */
    public boolean isCall() {
        return call != null;
    }

    public CallContext context() {
        return context;
    }

    /** The exchange of the stream that this is a message of; null for a call of its own. */
    public @Nullable Exchange stream() {
        return stream;
    }

    /** What a layer keeps here; null if it has put nothing. */
    @SuppressWarnings("unchecked") // put() takes the slot's type
    public <T> @Nullable T get(Slot<T> slot) {
        return slot.index < slots.length ? (T) slots[slot.index] : null;
    }

    /** Keeps a value of a layer. */
    public <T> void put(Slot<T> slot, @Nullable T value) {
        if (slot.index >= slots.length) {
            slots = Arrays.copyOf(slots, Slot.count());
        }
        slots[slot.index] = value;
    }

    /** Bytes of the body that have arrived. */
    public long bytes() {
        return bytes;
    }

    /** Whether its outcome is known: it is completed, failed or cancelled. */
    public boolean isFinished() {
        return finished;
    }

    /** Whether the client cancelled it. */
    public boolean isCancelled() {
        return cancelled;
    }

    /** Why it failed; null if it has not. */
    public @Nullable OipException failure() {
        return failure;
    }

    /** Opens it: what refuses it fails the reply. */
    public void open() {
        context.began(call().operation());
        if (stream == null) {
            notify(layers.began, Layer::began);
        }
        request.openFrom(0);
    }

    public RequestSink request() {
        return request;
    }

    /** Fails a request before it becomes a call. */
    void reject(OipException refusal) {
        notify(layers.began, Layer::began);
        notify(layers.opened, Layer::opened);
        fail(refusal);
    }

    /** All layers are notified before the fault of one ends the exchange. */
    void notify(Layer[] notified, BiConsumer<Layer, Exchange> notice) {
        OipException failed = null;
        for (Layer each : notified) {
            try {
                notice.accept(each, this);
            } catch (RuntimeException | Error fault) {
                failed = layers.failureIn(each, context, fault);
            }
        }
        if (failed != null) {
            abort(failed);
        }
    }

    void cancel() {
        if (finished) {
            return;
        }
        cancelled = true;
        excuseTarget();
        context.cancelled();
        finish();
        request.cancelBehind();
        // What a stream leaves unanswered, though its client has not cancelled it, has no outcome.
        if (stream == null || stream.cancelled) {
            reportEnd();
        }
    }

    /** Whether it waits for the decision of a layer. */
    public boolean isWaiting() {
        return request.waiting && !finished;
    }

    /** Counts the memory of the request from here on. */
    public void countMemory() {
        request.countMemory();
    }

    /**
     * The length of the whole body is known; only the first call has an effect. Unless this returns true the request may
     * not be sent before its {@code end()}, if it has not failed.
     */
    public boolean sized(long length) {
        return request.sized(length);
    }

    /** Whether a layer transforms the request, see {@link Layer#transforms}. */
    public boolean transforms() {
        return layers.transforms(this);
    }

    /**
     * Passes the request to the layers that transform it.
     *
     * @param decoded taken
     * @param deadlineNanos of the call, as {@link Call#deadlineNanos}
     * @param then receives (takes) the result, unless the call ends before
     */
    public void transform(InferRequest decoded, long deadlineNanos, Consumer<InferRequest> then) {
        new Transformation(this, layers, decoded, deadlineNanos, then).passFrom(0);
    }

    /** Whether {@link #parsed} is to be called. */
    public boolean showsOutline() {
        return layers.showsOutline();
    }

    /**
     * What is about to be sent to the chosen target is known; see {@link Layer#parsed}.
     *
     * @param outline borrowed
     * @throws OipException if a layer refuses it, which says nothing of the target
     */
    public void parsed(RequestOutline outline) {
        try {
            layers.parsed(this, outline);
        } catch (OipException refusal) {
            excuseTarget();
            throw refusal;
        }
    }

    /** Its target was chosen: the first one counts. */
    public void targeted() {
        targeted = true;
    }

    /** The request, or the last part of it, is sent to its target, or to the fallback of the target that has ended. */
    public void sending() {
        notify(layers.sending, Layer::sending);
    }

    /** Whether the response has started to be forwarded. */
    public boolean isResponding() {
        return responding;
    }

    /** The response starts to be forwarded; only the first call has an effect. */
    public void responding() {
        if (!responding) {
            responding = true;
            notify(layers.responding, Layer::responding);
        }
    }

    /** Its target has ended, and the call goes on. */
    @Override
    public void redirected(OipException reason, ModelRef model) {
        endTarget(reason);
    }

    void endTarget(@Nullable OipException reason) {
        if (targeted) {
            targeted = false;
            layers.targetEnded(this, reason);
        }
    }

    @Override
    public void notSent() {
        excuseTarget();
    }

    /** How it ends is not due to its target, unless the response has said that the request failed. */
    public void excuseTarget() {
        targeted &= failureInResponse != null;
    }

    /** The response says that the request failed, after it has begun; only the first failure counts. */
    public void failsInResponse(OipException reason) {
        failureInResponse = failureInResponse == null ? reason : failureInResponse;
    }

    @Override
    public void identified(AsciiString id) {
        client.identified(id);
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!finished) {
            client.headers(headers);
        }
    }

    @Override
    public void message(ReplyMessage message) {
        if (!finished) {
            responding();
        }
        if (finished) {
            message.release();
            return;
        }
        if (message instanceof ReplyMessage.StreamError error) {
            failsInResponse(error.failure());
        }
        if (stream != null) {
            respondedNanos = layers.now();
            context.responseBegan(respondedNanos);
            context.responseSent(message.size());
            client.message(message);
            return;
        }
        try {
            ReplyMessage shown = layers.message(this, message);
            if (shown != null) {
                if (!context.responding()) {
                    context.responseBegan(layers.now());
                }
                context.responseSent(shown.size());
                client.message(shown);
            }
        } catch (RuntimeException | OutOfMemoryError fault) {
            abort(CallLog.failureOf(fault, context));
        }
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return client.acceptsParts(wire, length);
    }

    /** More of the request may come: buffered bytes of it were sent. */
    @Override
    public void onReady() {
        request.count();
        client.onReady();
    }

    @Override
    public boolean isReady() {
        return client.isReady();
    }

    @Override
    public void complete() {
        if (!finished) {
            finish();
            try {
                client.complete();
            } finally {
                reportEnd();
            }
        }
    }

    /** Cancels what is behind the layers, and fails. */
    public void abort(OipException reason) {
        if (!finished) {
            fail(reason);
            request.cancelBehind();
        }
    }

    @Override
    public void fail(OipException reason) {
        if (finished) {
            return;
        }
        failure = reason;
        if (reason.code() == ErrorCode.DEADLINE_EXCEEDED && responding && !client.isReady()) {
            // The client did not read.
            excuseTarget();
        }
        // Before the text is replaced: operators see the full one.
        context.failed(
                reason.failureCause() == FailureCause.TIMEOUT && deadlinePassed()
                        ? reason.because(FailureCause.CLIENT_DEADLINE)
                        : reason);
        context.responseBegan(layers.now());
        finish();
        try {
            client.fail(stream == null ? layers.failure(this, reason) : reason);
        } finally {
            reportEnd();
        }
    }

    /** Whether its client has set a deadline, and it has passed. */
    private boolean deadlinePassed() {
        return call != null && call.hasDeadline() && call.deadlineNanos() - layers.now() <= 0;
    }

    private void finish() {
        finished = true;
        if (failureInResponse != null && !(isCall() && call().operation() instanceof Operation.InferStream)) {
            context.failed(failureInResponse);
        }
        endTarget(failureInResponse == null ? failure : failureInResponse);
        notify(layers.finished, Layer::finished);
        request.finish();
    }

    private void reportEnd() {
        // That its last response was the last one, a server may say only later.
        boolean answered = stream != null && failure == null && respondedNanos != CallContext.NOT_YET;
        if (context.ended(answered ? respondedNanos : layers.now())) {
            notify(
                    stream == null ? layers.ended : layers.messageEnded,
                    stream == null ? Layer::ended : Layer::messageEnded);
        }
    }
}
