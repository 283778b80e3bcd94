package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.BatchedModel.SentCall;
import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.gateway.batching.RouteBatching.BatchingResources;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.SharedHeaders;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.memory.MemoryBudget.MemoryReservation;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Requests that become one call, on the event loop of the first one. Until it is closed it belongs to its model's lock,
 * then to that event loop; each request's answer is handed to the request's own loop. A request whose client has gone is
 * left out, or its part of the response is dropped; the call is cancelled with the last of them.
 */
final class JoinedBatch {
    private final BatchedModel model;
    private final JoinKey key;
    private final EventLoop owner;
    private final BatchingResources resources;
    private final List<WaitingRequest> waiting = new ArrayList<>();
    private final AtomicInteger wanted = new AtomicInteger();
    private long rows;
    private long bytes;
    private @Nullable SentCall sent;
    private @Nullable Future<?> timer;

    private Subscription inFlight = Subscription.NONE;
    private @Nullable JoinedReply reply;
    private MemoryReservation memory = MemoryReservation.UNCOUNTED;
    private @Nullable CallContext context;
    private boolean ended;

    /**
     * A client's request, and its decoded form, which is taken when it is joined.
     *
     * @param since when it began to wait, as {@link BatchedModel#now}
     */
    private record WaitingRequest(BatchMember member, JoinableRequest request, long since) {}

    /** @param first the request on whose event loop it is sent */
    JoinedBatch(BatchedModel model, JoinKey key, BatchMember first) {
        this.model = model;
        this.key = key;
        this.owner = first.call().loop();
        this.resources = model.resources();
        this.timer = owner.schedule(this::waited, model.bounds().maxQueueDelayMicroseconds(), TimeUnit.MICROSECONDS);
    }

    JoinKey key() {
        return key;
    }

    int size() {
        return waiting.size();
    }

    boolean fits(JoinableRequest request, BatchingConfig bounds) {
        return rows + request.rows() <= bounds.maxBatchSize() && bytes + request.bytes() <= bounds.maxBytes();
    }

    boolean isFull(BatchingConfig bounds) {
        return rows >= bounds.maxBatchSize() || bytes >= bounds.maxBytes();
    }

    /** @param request taken, as is what the member sends */
    void add(BatchMember member, JoinableRequest request) {
        waiting.add(new WaitingRequest(member, request, model.now()));
        member.waits(this);
        rows += request.rows();
        bytes += request.bytes();
    }

    /** Gives the request back to the member, which has ended. */
    void remove(BatchMember member) {
        for (WaitingRequest each : waiting) {
            if (each.member() == member) {
                waiting.remove(each);
                rows -= each.request().rows();
                bytes -= each.request().bytes();
                each.request().release();
                return;
            }
        }
    }

    /** Nothing is added any more, and it counts as this call. */
    void closed(SentCall call) {
        sent = call;
        wanted.set(waiting.size());
    }

    private void waited() {
        if (model.close(this)) {
            send();
        }
    }

    /** Sends it on its event loop. */
    void start() {
        if (owner.inEventLoop()) {
            send();
        } else if (!EventLoops.handOver(owner, this::send)) {
            end(false);
            waiting.forEach(each -> {
                each.request().release();
                each.member().release();
            });
        }
    }

    private void send() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
        waiting.removeIf(this::hasGone);
        long now = model.now();
        waiting.forEach(each -> resources.meters().waited(now - each.since()));
        if (waiting.isEmpty()) {
            end(false);
        } else if (waiting.size() == 1) {
            end(false);
            WaitingRequest only = waiting.getFirst();
            only.request().release();
            resources.meters().alone();
            only.member().sendAlone();
        } else {
            sendJoined();
        }
    }

    private boolean hasGone(WaitingRequest each) {
        if (each.member().hasEnded()) {
            each.request().release();
            each.member().release();
            return true;
        }
        return false;
    }

    private void sendJoined() {
        resources.meters().joined(waiting.size());
        BatchMember first = waiting.getFirst().member();
        memory = resources.memory().reserve();
        Call joined = joinedCall(first);
        JoinedReply receiver = new JoinedReply();
        reply = receiver;
        try {
            inFlight = first.upstream()
                    .send(joined, request(first, joined.allocator()), receiver)
                    .cancelIf(ended);
        } catch (RuntimeException | OutOfMemoryError e) {
            receiver.fail(CallLog.failureOf(e, joined.context()));
        }
    }

    /** The joined request; what was decoded is taken. */
    private UpstreamRequest request(BatchMember first, ByteBufAllocator allocator) {
        InferRequest request = RowTensors.join(
                allocator, waiting.stream().map(WaitingRequest::request).toList());
        InferMessage message = resources
                .codec()
                .write(allocator, request, key.form(), first.upstream().peer());
        return new UpstreamRequest.InferenceRequest(key.model(), message, request.id(), false);
    }

    /** The call has the deadline of the request that may wait longest; the others end by their own. */
    private Call joinedCall(BatchMember first) {
        long deadline = waiting.stream()
                .mapToLong(each -> each.member().call().deadlineNanos())
                .reduce((one, other) -> one - other > 0 ? one : other)
                .orElse(Call.NO_DEADLINE);
        boolean unlimited =
                waiting.stream().anyMatch(each -> !each.member().call().hasDeadline());
        CallContext joined = new CallContext(
                null, null, HeaderFields.NONE, owner, first.call().allocator(), memory, System.nanoTime());
        joined.traced(joinedSpan());
        queuedAs(first.call().context(), joined);
        context = joined;
        return new Call(first.call().operation(), unlimited ? Call.NO_DEADLINE : deadline, key.headers(), joined);
    }

    /** In the upstream's queue it is a call of the first request's caller. All have the same priority. */
    private static void queuedAs(CallContext first, CallContext joined) {
        joined.authenticated(first.principal());
        joined.prioritized(first.priority());
        SocketAddress peer = first.peer();
        if (peer != null) {
            joined.forwardedFor(peer);
        }
    }

    /** In the trace of the first request that is sampled. */
    private TraceSpan joinedSpan() {
        List<TraceSpan> spans = waiting.stream()
                .map(each -> each.member().call().context().span())
                .toList();
        return spans.stream()
                .filter(TraceSpan::sampled)
                .findFirst()
                .orElse(spans.getFirst())
                .joined(spans);
    }

    /** That of the call, which has been sent. */
    CallContext context() {
        return Objects.requireNonNull(context);
    }

    /** A client does not want its part any more. */
    void left() {
        if (wanted.decrementAndGet() == 0) {
            EventLoops.handOver(owner, this::cancel);
        }
    }

    private void cancel() {
        if (!ended && inFlight != Subscription.NONE) {
            end(false);
            context().span().ended(ErrorCode.CANCELLED, "all clients have gone");
            inFlight.cancel();
            if (reply != null) {
                reply.discard();
            }
            releaseRequests();
        }
    }

    /** The call has ended, for the model and for the memory. */
    private void end(boolean answered) {
        ended = true;
        model.end(Objects.requireNonNull(sent), answered);
        memory.release();
    }

    private void releaseRequests() {
        waiting.forEach(each -> each.member().release());
    }

    /** The server has answered with this response (taken). */
    private void answered(InferMessage response, Map<String, String> headers) {
        List<InferMessage> parts;
        try {
            BatchMember first = waiting.getFirst().member();
            parts = resources
                    .codec()
                    .split(
                            context().allocator(),
                            response,
                            key.form(),
                            first.upstream().peer(),
                            owners());
        } catch (RuntimeException | OutOfMemoryError e) {
            failed(CallLog.failureOf(e, context()));
            return;
        }
        context().span().ended(null, "");
        if (parts == null) {
            end(false);
            model.withoutRows();
            singly();
            return;
        }
        end(true);
        releaseRequests();
        for (int i = 0; i < parts.size(); i++) {
            waiting.get(i).member().answer(parts.get(i), headers);
        }
    }

    private RowOwners owners() {
        return new RowOwners(
                waiting.stream().map(each -> each.request().request().id()).toList(),
                waiting.stream().map(each -> each.request().rows()).toList());
    }

    /** The call has failed: for all of them, or perhaps for one, so that each is tried alone. */
    private void failed(OipException failure) {
        end(false);
        context().span().ended(failure.code(), failure.message());
        if (concernsAll(failure)) {
            releaseRequests();
            OipException shared = withoutServersText(failure);
            waiting.forEach(each -> each.member().failJoined(shared));
            return;
        }
        resources.meters().failed();
        singly();
    }

    private void singly() {
        SingleRequests singles = new SingleRequests(model, waiting.size());
        waiting.forEach(each -> each.member().sendSingly(singles));
    }

    /** A server's text may be about one of the requests, and tell the others of it. */
    private static OipException withoutServersText(OipException failure) {
        return failure.isServersText()
                ? failure.withMessage(
                        "the server answered " + failure.code() + " to a call of several clients' requests")
                : failure;
    }

    /**
     * Whether the server, or the way to it, is the cause: more calls would not help, and add load to a server that has
     * too much.
     */
    private static boolean concernsAll(OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED, LOOP_DETECTED -> true;
            default -> failure.retryAfter().isPresent();
        };
    }

    /** Receives the response to the call. */
    private final class JoinedReply implements Reply {
        private final Map<String, String> headers = new HashMap<>();
        private @Nullable InferMessage response;

        @Override
        public void headers(Map<String, String> received) {
            headers.putAll(SharedHeaders.of(received));
            if (SharedHeaders.isOfOneClient(received)) {
                headers.put("cache-control", "no-store");
            }
        }

        @Override
        public void message(ReplyMessage message) {
            if (!ended && response == null && message instanceof ReplyMessage.Inference inference) {
                response = inference.message();
            } else {
                message.release();
            }
        }

        @Override
        public void complete() {
            InferMessage received = response;
            response = null;
            if (received == null) {
                fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "a response is expected, got none"));
            } else if (ended) {
                received.release();
            } else {
                answered(received, Map.copyOf(headers));
            }
        }

        @Override
        public void fail(OipException failure) {
            discard();
            if (!ended) {
                failed(failure);
            }
        }

        /** The call was cancelled. */
        void discard() {
            if (response != null) {
                response.release();
                response = null;
            }
        }
    }

    /** The requests of a call that failed, each sent alone: if all succeed, the call failed because they were joined. */
    static final class SingleRequests {
        private final BatchedModel model;
        private final int joined;
        private final AtomicInteger pending;
        private final AtomicBoolean failed = new AtomicBoolean();

        SingleRequests(BatchedModel model, int joined) {
            this.model = model;
            this.joined = joined;
            this.pending = new AtomicInteger(joined);
        }

        /** One of them has ended. */
        void ended(boolean answered) {
            if (!answered) {
                failed.set(true);
            }
            if (pending.decrementAndGet() == 0 && !failed.get()) {
                model.failedJoined(joined);
            }
        }
    }
}
