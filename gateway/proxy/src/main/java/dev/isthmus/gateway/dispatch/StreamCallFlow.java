package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route.StreamSelections;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A stream of inference requests. Each is sent to the target of its model, over one stream per target and server, so
 * that requests to one model stay in order; random choices are made once per stream. A request that fails, alone or with
 * the stream to its server, is answered in the stream, which continues.
 */
final class StreamCallFlow implements RequestSink {
    private final Exchange client;
    private final Call call;
    private final Transcoder transcoder;
    private final StreamSelections selections = new StreamSelections();
    private final Set<ModelSubstream> substreams = new LinkedHashSet<>();
    /** Those that take further requests. */
    private final Map<StreamTarget, ModelSubstream> open = new HashMap<>();
    /** Messages behind the undecided one. */
    private final Deque<ByteBuf> held = new ArrayDeque<>();
    /** The client's deadline; null if it has none. */
    private final @Nullable Future<?> deadline;
    /** The request that waits for the decision of a layer. */
    private @Nullable StreamedCall undecided;

    private boolean complete;
    private boolean ended;
    private boolean callEnded;

    StreamCallFlow(Exchange client, Transcoder transcoder) {
        this.client = client;
        this.call = client.call();
        this.transcoder = transcoder;
        long left = call.deadlineNanos() - System.nanoTime();
        this.deadline = call.hasDeadline() ? call.loop().schedule(this::expire, left, TimeUnit.NANOSECONDS) : null;
    }

    /** The client's deadline has passed. A server that has a request ends the stream itself, and is named. */
    private void expire() {
        if (substreams.stream().noneMatch(ModelSubstream::isWaiting)) {
            fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "the deadline of the call has expired"));
        }
    }

    private void endCall() {
        callEnded = true;
        if (deadline != null) {
            deadline.cancel(false);
        }
    }

    @Override
    public void data(ByteBuf message) {
        if (callEnded || ended) {
            message.release();
        } else if (undecided != null) {
            held.add(message);
        } else {
            accept(message);
        }
    }

    private void accept(ByteBuf message) {
        ProtobufReader.Outline outline;
        try {
            outline = ProtobufReader.outline(message);
        } catch (OipException malformed) {
            message.release();
            reject(malformed, "");
            return;
        }
        StreamedCall request;
        try {
            Operation infer = new Operation.Infer(outline.model(), new BodyForm.ProtobufForm(outline, null), true);
            request = new StreamedCall(this, client, call.withOperation(infer), outline);
        } catch (OipException malformed) {
            message.release();
            reject(malformed, outline.id());
            return;
        }
        request.begin(message);
        if (request.exchange().isWaiting()) {
            // Messages behind it wait too, so that order is kept.
            undecided = request;
        }
    }

    /** A message is no request; the stream continues. */
    private void reject(OipException malformed, String id) {
        client.rejectMessage(malformed, Reply.DISCARDING);
        client.message(new ReplyMessage.StreamError(malformed, id));
    }

    /** The layers have let a request pass, or have refused it. */
    void decided(StreamedCall request) {
        if (undecided != request) {
            return;
        }
        undecided = null;
        while (undecided == null && !held.isEmpty() && !callEnded) {
            accept(held.remove());
        }
        if (undecided == null && complete) {
            end();
        } else {
            resumeReading();
        }
    }

    /** Sends a request that all layers have let pass (taken). */
    void send(StreamedCall request, ByteBuf message) {
        RequestBody sent = new ProtobufBody(
                request.exchange(),
                request.outline().model(),
                transcoder,
                new BodyForm.ProtobufForm(request.outline(), null));
        sent.add(message);
        try {
            Target target = RoutedCall.of(request.exchange()).selectTarget(attributes(request.outline()), selections);
            if (sent.transforms()) {
                sent.transform(target, () -> {
                    send(request, target, sent);
                    decided(request);
                });
                sent.releaseReceived();
            } else {
                send(request, target, sent);
            }
        } catch (RuntimeException | OutOfMemoryError fault) {
            sent.release();
            fail(request, fault);
        }
    }

    /** A request that was not sent fails alone; with a fault of the gateway, the stream fails. */
    private void fail(StreamedCall request, Throwable thrown) {
        OipException failure = CallLog.failureOf(thrown, call.context());
        if (thrown instanceof OipException || thrown instanceof OutOfMemoryError) {
            request.exchange().fail(failure);
        } else {
            fail(failure);
        }
    }

    /** @param source taken */
    private void send(StreamedCall request, Target target, RequestBody source) {
        InferenceRequest message = new InferenceRequest(target.upstream(), target.model(), source, true);
        Call own = RoutedCall.of(request.exchange()).call();
        ModelSubstream substream;
        try {
            message.encode();
            Call withAffinity = call.withAffinity(own.affinity(), own.sequenceNanos());
            substream = substream(withAffinity, target, request.outline().model(), request);
        } catch (RuntimeException | OutOfMemoryError fault) {
            message.release();
            fail(request, fault);
            return;
        }
        try {
            request.send(own, substream.stream(), message);
        } catch (RuntimeException | OutOfMemoryError fault) {
            substream.remove(request);
            fail(request, fault);
            return;
        }
        if (own.hasDeadline() && !call.hasDeadline() && target.upstream().peer().wire() == Wire.PROTOBUF) {
            // A stream to a server has no deadline; other servers get a call for each request.
            long left = own.deadlineNanos() - System.nanoTime();
            request.expireAfter(left, () -> substream.expired(left));
        }
    }

    private RequestAttributes attributes(ProtobufReader.Outline outline) {
        return new RequestAttributes(call.client(), outline.parameters(), outline.id());
    }

    /** The stream for a request, opened if there is none. */
    private ModelSubstream substream(Call withAffinity, Target target, ModelRef requested, StreamedCall request) {
        Upstream server = target.upstream().server(withAffinity, target.model());
        StreamTarget key = new StreamTarget(target, server, requested.name());
        ModelSubstream existing = open.get(key);
        if (existing != null) {
            existing.add(request);
            return existing;
        }
        ModelSubstream opened = new ModelSubstream(this, key);
        substreams.add(opened);
        open.put(key, opened);
        opened.add(request);
        opened.stream(target.service().inferStream(withAffinity, target.model(), opened));
        return opened;
    }

    /**
     * The key of a substream, in which requests stay in order.
     *
     * @param server one of the target's servers; any for requests without affinity
     * @param requested the model as the client names it
     */
    record StreamTarget(Target target, Upstream server, String requested) {}

    @Override
    public void end() {
        if (callEnded || ended) {
            return;
        }
        complete = true;
        if (undecided != null) {
            return;
        }
        ended = true;
        List.copyOf(substreams).forEach(substream -> substream.stream().end());
        completeIfDone();
    }

    @Override
    public void cancel() {
        if (!callEnded) {
            endCall();
            cancelSubstreams(null);
        }
    }

    @Override
    public boolean isReady() {
        // The client is not read while it does not read responses, because each request may cause an immediate error
        // response.
        return undecided == null
                && client.isReady()
                && substreams.stream().allMatch(substream -> substream.stream().isReady());
    }

    @Override
    public long held() {
        long bytes = undecided == null ? 0 : undecided.exchange().request().held();
        bytes += held.stream().mapToLong(ByteBuf::readableBytes).sum();
        for (ModelSubstream substream : substreams) {
            bytes += substream.stream().keptBytes();
        }
        return bytes;
    }

    @Override
    public void onReady() {
        List.copyOf(substreams).forEach(substream -> substream.stream().onReady());
        resumeReading();
    }

    void resumeReading() {
        if (!callEnded && isReady()) {
            client.onReady();
        }
    }

    /** @param failure that the requests fail with; null for that of the client's stream */
    private void cancelSubstreams(@Nullable OipException failure) {
        List<ModelSubstream> remaining = List.copyOf(substreams);
        substreams.clear();
        open.clear();
        held.forEach(ByteBuf::release);
        held.clear();
        if (undecided != null) {
            undecided.exchange().request().cancel();
        }
        remaining.forEach(each -> each.cancel(failure));
    }

    private void completeIfDone() {
        if (ended && !callEnded && substreams.isEmpty()) {
            endCall();
            client.complete();
        }
    }

    void fail(OipException failure) {
        if (!callEnded) {
            endCall();
            cancelSubstreams(failure);
            client.fail(failure);
        }
    }

    boolean callEnded() {
        return callEnded;
    }

    boolean requestsEnded() {
        return ended;
    }

    Call call() {
        return call;
    }

    Exchange client() {
        return client;
    }

    /**
     * A message from a server in the form of the client (owned by the caller).
     *
     * @param model the name to set; null for the server's
     */
    InferMessage converted(ReplyMessage.Inference response, @Nullable String model) {
        String id = response.id();
        ResponseForm form = new ResponseForm(
                Wire.PROTOBUF, id == null, OutputForms.JSON, false, response.sharedOutputs(), id, model);
        InferMessage converted = transcoder.response(call.allocator(), response.message(), form);
        return response.last() ? Transcoder.last(call.allocator(), converted) : converted;
    }

    /** Another target has its requests: it takes no more. */
    void redirected(StreamTarget key, ModelSubstream substream) {
        open.remove(key, substream);
    }

    /** A substream has ended; the next request opens a new one. */
    void ended(StreamTarget key, ModelSubstream substream) {
        open.remove(key, substream);
        substreams.remove(substream);
        completeIfDone();
        resumeReading();
    }

    /**
     * One request of a stream, answered within it: neither its end nor its failure ends the stream. It has an exchange of its
     * own, which passes the layers.
     */
    static final class StreamedCall extends ForwardingReply {
        private final StreamCallFlow flow;
        private final ProtobufReader.Outline outline;
        private final Exchange exchange;
        /** Over which it was sent. */
        private UpstreamStream sentOver = UpstreamStream.ENDED;

        private @Nullable Future<?> timer;
        private boolean responded;

        /**
         * A request that was received.
         *
         * @param stream the client's stream
         */
        StreamedCall(StreamCallFlow flow, Exchange stream, Call call, ProtobufReader.Outline outline) {
            super(stream);
            this.flow = flow;
            this.outline = outline;
            this.exchange = stream.ofMessage(call, own -> new Message(), this);
        }

        /** Empty if it has none. */
        String id() {
            return outline.id();
        }

        ProtobufReader.Outline outline() {
            return outline;
        }

        Exchange exchange() {
            return exchange;
        }

        /** Passes the layers, and is then sent. */
        void begin(ByteBuf message) {
            exchange.open();
            exchange.request().data(message);
            exchange.request().end();
        }

        /** @param message taken */
        void send(Call call, UpstreamStream stream, InferenceRequest message) {
            sentOver = stream;
            stream.send(call, message, outline.emptyFinal());
        }

        /** Runs a task after this time, unless it has a response or has ended by then. */
        void expireAfter(long nanos, Runnable expired) {
            if (!responded) {
                timer = exchange.call().loop().schedule(expired, nanos, TimeUnit.NANOSECONDS);
            }
        }

        private void responded() {
            responded = true;
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
        }

        @Override
        public void message(ReplyMessage message) {
            responded();
            super.message(message);
        }

        @Override
        public void complete() {
            responded();
            sentOver.ended(exchange.context().upstreamNanos(), null);
        }

        @Override
        public void fail(OipException failure) {
            responded();
            sentOver.ended(exchange.context().upstreamNanos(), failure);
            if (!flow.callEnded()) {
                super.message(new ReplyMessage.StreamError(failure, id()));
                flow.decided(this);
            }
        }

        /** The request behind the layers. */
        private final class Message implements RequestSink {
            private @Nullable ByteBuf message;

            @Override
            public void data(ByteBuf whole) {
                message = whole;
            }

            @Override
            public void end() {
                ByteBuf whole = message;
                message = null;
                if (whole != null) {
                    flow.send(StreamedCall.this, whole);
                }
                if (!exchange.isWaiting()) {
                    flow.decided(StreamedCall.this);
                }
            }

            @Override
            public void cancel() {
                responded();
                if (message != null) {
                    message.release();
                    message = null;
                }
            }
        }
    }
}
