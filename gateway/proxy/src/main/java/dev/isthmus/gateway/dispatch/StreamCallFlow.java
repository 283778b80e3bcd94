package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.StreamSelections;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A stream of inference requests. Each is sent to the target of its model, over one stream per target and server, so
 * that requests to one model stay in order; random choices are made once per stream. A request that fails, alone or with
 * the stream to its server, is answered in the stream, which continues.
 */
final class StreamCallFlow implements RequestSink {
    private final Exchange client;
    private final Call call;
    private final boolean separate;
    private final Transcoder transcoder;
    private final StreamSelections selections = new StreamSelections();
    private final Map<StreamTarget, ModelSubstream> substreams = new LinkedHashMap<>();
    /** Messages behind the undecided one. */
    private final Deque<ByteBuf> held = new ArrayDeque<>();
    /** The request that waits for the decision of a layer. */
    private @Nullable StreamedCall undecided;

    private boolean complete;
    private boolean ended;
    private boolean callEnded;

    StreamCallFlow(Exchange client, boolean separate, Transcoder transcoder) {
        this.client = client;
        this.call = client.call();
        this.separate = separate;
        this.transcoder = transcoder;
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
        ProtobufBody body = new ProtobufBody(transcoder, call.allocator(), request.outline());
        body.add(message);
        try {
            send(request, body);
        } catch (RuntimeException fault) {
            fail(request, fault);
        } finally {
            body.release();
        }
    }

    private void send(StreamedCall request, ProtobufBody body) {
        Exchange exchange = request.exchange();
        RoutedCall routed = RoutedCall.of(exchange);
        TargetSelection selection = routed.selectTarget(attributes(request.outline()), selections);
        Target target = selection.target();
        ServerFeatures peer = routed.features(target.upstream());
        Consumer<RequestOutline> show = exchange.showsOutline() ? exchange::parsed : null;
        if (!exchange.transforms()) {
            send(request, selection, body.prepare(peer, target.model(), show).message());
            return;
        }
        DecodedBody decoded = body.decode(peer, target.model());
        exchange.transform(decoded.request(), call.deadlineNanos(), changed -> {
            try {
                DecodedBody sent = decoded.with(changed);
                if (show != null) {
                    sent.show(show);
                }
                send(
                        request,
                        selection,
                        sent.encoded(transcoder, call.allocator(), peer).message());
            } catch (RuntimeException fault) {
                fail(request, fault);
            }
            decided(request);
        });
    }

    /** A request that was not sent fails alone; with a fault of the gateway, the stream fails. */
    private void fail(StreamedCall request, RuntimeException thrown) {
        if (thrown instanceof OipException refused) {
            request.exchange().fail(refused);
            return;
        }
        fail(CallLog.failureOf(thrown, call.context()));
    }

    /** @param message taken */
    private void send(StreamedCall streamed, TargetSelection selection, InferMessage message) {
        ProtobufReader.Outline outline = streamed.outline();
        Target target = selection.target();
        Call withAffinity = call.withAffinity(selection.affinity(), selection.sequence());
        RoutedCall routed = RoutedCall.of(streamed.exchange());
        routed.sendingUncopied(call);
        UpstreamStream stream = substream(withAffinity, target, outline.model(), streamed);
        Call own = streamed.exchange().call().withAffinity(selection.affinity(), selection.sequence());
        streamed.send(own.within(routed.route().config().timeout()), stream, target.model(), message);
    }

    private RequestAttributes attributes(ProtobufReader.Outline outline) {
        return new RequestAttributes(call.client(), outline.parameters(), outline.id());
    }

    /** The stream for a request, opened if there is none. */
    private UpstreamStream substream(Call withAffinity, Target target, ModelRef requested, StreamedCall request) {
        Upstream server = target.upstream().server(withAffinity, target.model());
        StreamTarget key = new StreamTarget(target, server, requested.name());
        ModelSubstream existing = substreams.get(key);
        if (existing != null) {
            existing.add(request);
            return existing.stream();
        }
        ModelSubstream opened = new ModelSubstream(this, key);
        substreams.put(key, opened);
        opened.add(request);
        opened.stream(stream(withAffinity, target, opened));
        return opened.stream();
    }

    /**
     * The key of a substream, in which requests stay in order.
     *
     * @param server one of the target's servers; any for requests without affinity
     * @param requested the model as the client names it
     */
    record StreamTarget(Target target, Upstream server, String requested) {
        /** The model name to set in responses; null for the server's. */
        @Nullable
        String responseModel() {
            return target.model().name().equals(requested) ? null : requested;
        }

        /** The failure with the model's name as the client knows it. */
        OipException named(OipException failure) {
            return responseModel() == null || !failure.isServersText()
                    ? failure
                    : OipException.ofServer(
                            failure.code(),
                            RedactedText.renamed(
                                    failure.message(), target.model().name(), requested));
        }
    }

    private UpstreamStream stream(Call withAffinity, Target target, ModelSubstream substream) {
        boolean oneByOne = separate && target.upstream().peer().dialect().wholeStreams();
        return oneByOne
                ? new UnaryStream(target.upstream(), withAffinity, substream)
                : target.upstream().inferStream(withAffinity, target.model(), substream);
    }

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
        new ArrayList<>(substreams.values())
                .forEach(substream -> substream.stream().end());
        completeIfDone();
    }

    @Override
    public void cancel() {
        if (!callEnded) {
            callEnded = true;
            cancelSubstreams(null);
        }
    }

    @Override
    public boolean isReady() {
        // The client is not read while it does not read responses, because each request may cause an immediate error
        // response.
        return undecided == null
                && client.isReady()
                && substreams.values().stream()
                        .allMatch(substream -> substream.stream().isReady());
    }

    @Override
    public long held() {
        long bytes = undecided == null ? 0 : undecided.exchange().request().held();
        bytes += held.stream().mapToLong(ByteBuf::readableBytes).sum();
        for (ModelSubstream substream : substreams.values()) {
            bytes += substream.stream().keptBytes();
        }
        return bytes;
    }

    @Override
    public void onReady() {
        new ArrayList<>(substreams.values())
                .forEach(substream -> substream.stream().onReady());
        resumeReading();
    }

    void resumeReading() {
        if (!callEnded && isReady()) {
            client.onReady();
        }
    }

    /** @param failure that the requests fail with; null for that of the client's stream */
    private void cancelSubstreams(@Nullable OipException failure) {
        List<ModelSubstream> remaining = new ArrayList<>(substreams.values());
        substreams.clear();
        held.forEach(ByteBuf::release);
        held.clear();
        if (undecided != null) {
            undecided.exchange().request().cancel();
        }
        remaining.forEach(each -> each.cancel(failure));
    }

    private void completeIfDone() {
        if (ended && !callEnded && substreams.isEmpty()) {
            callEnded = true;
            client.complete();
        }
    }

    void fail(OipException failure) {
        if (!callEnded) {
            callEnded = true;
            cancelSubstreams(failure);
            client.fail(failure);
        }
    }

    boolean callEnded() {
        return callEnded;
    }

    Call call() {
        return call;
    }

    Exchange client() {
        return client;
    }

    /** A message from a server in the form of the client (owned by the caller). */
    InferMessage converted(ReplyMessage.Inference response, StreamTarget key) {
        String id = response.id();
        ResponseForm form =
                new ResponseForm(Wire.PROTOBUF, id == null, OutputForms.JSON, false, Map.of(), id, key.responseModel());
        InferMessage converted = transcoder.response(call.allocator(), response.message(), form);
        return response.last() ? Transcoder.last(call.allocator(), converted) : converted;
    }

    /** A substream has ended; the next request opens a new one. */
    void ended(StreamTarget key, ModelSubstream substream) {
        substreams.remove(key, substream);
        completeIfDone();
        resumeReading();
    }
}
