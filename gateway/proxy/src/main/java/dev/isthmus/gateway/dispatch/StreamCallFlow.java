package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.StreamSelections;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
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
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stream of inference requests. Each is sent to the target of its model, over one stream per target and server, so
 * that requests to one model stay in order; random choices are made once per stream. A request that fails, alone or with
 * the stream to its server, is answered in the stream, which continues.
 */
final class StreamCallFlow implements RequestSink {
    private static final Logger LOG = LoggerFactory.getLogger(StreamCallFlow.class);

    private final Call call;
    private final boolean separate;
    private final RoutingTable routes;
    private final RoutePolicyTable policies;
    private final Authorization.CallRules rules;
    private final Transcoder transcoder;
    private final Reply client;
    private final StreamSelections selections = new StreamSelections();
    private final Map<StreamTarget, ModelSubstream> substreams = new LinkedHashMap<>();
    /** Messages behind the undecided one. */
    private final Deque<ByteBuf> held = new ArrayDeque<>();
    /** The message that waits for shared rate limits. */
    private @Nullable ByteBuf undecided;

    private boolean complete;
    private boolean ended;
    private boolean callEnded;

    StreamCallFlow(
            Call call,
            boolean separate,
            RoutingTable routes,
            RoutePolicyTable policies,
            Authorization.CallRules rules,
            Transcoder transcoder,
            Reply client) {
        this.call = call;
        this.separate = separate;
        this.routes = routes;
        this.policies = policies;
        this.rules = rules;
        this.transcoder = transcoder;
        this.client = client;
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
            client.message(new ReplyMessage.StreamError(malformed, ""));
            return;
        }
        guarded(outline, () -> charge(outline, message));
    }

    /** Runs a step of a message: if it refuses the message, the stream continues. */
    private void guarded(ProtobufReader.Outline outline, Runnable step) {
        try {
            step.run();
        } catch (OipException refused) {
            client.message(new ReplyMessage.StreamError(refused, outline.id()));
        } catch (RuntimeException fault) {
            CallLog.of(LOG.atError(), call.context())
                    .addMarker(RepeatingLogEvent.MARKER)
                    .setCause(fault)
                    .log("internal error in a stream of inferences on {}; please report it", outline.model());
            fail(new OipException(ErrorCode.INTERNAL, "internal error", fault));
        }
    }

    /** Counts the message (taken), and sends it when it is admitted. Messages behind it wait, so that order is kept. */
    private void charge(ProtobufReader.Outline outline, ByteBuf message) {
        StreamedCall request = new StreamedCall(outline.id(), client);
        RouteCall routed;
        try {
            rules.check(call.context(), Permission.STREAM, NameGrammar.checked(outline.model()));
            Route route = routes.route(outline.model());
            routed = new RouteCall(call, route, outline.model(), policies, rules, request);
            routed.received(message.readableBytes());
            routed.bodyComplete();
        } catch (OipException unknown) {
            message.release();
            throw unknown;
        }
        request.routed(routed);
        if (routed.undecided() == null) {
            send(outline, request, message);
            return;
        }
        undecided = message;
        RateWait.then(routed.undecided(), call.loop(), refusal -> decided(outline, request, message, refusal));
    }

    private void decided(
            ProtobufReader.Outline outline, StreamedCall request, ByteBuf message, @Nullable OipException refusal) {
        undecided = null;
        if (callEnded) {
            message.release();
            return;
        }
        if (refusal == null) {
            guarded(outline, () -> send(outline, request, message));
        } else {
            message.release();
            request.routed().fail(refusal);
        }
        while (undecided == null && !held.isEmpty() && !callEnded) {
            accept(held.remove());
        }
        if (undecided == null && complete) {
            end();
        } else {
            resumeReading();
        }
    }

    /** Sends the message (taken). */
    private void send(ProtobufReader.Outline outline, StreamedCall streamed, ByteBuf message) {
        RouteCall routed = streamed.routed();
        ProtobufBody body = new ProtobufBody(transcoder, call.allocator(), outline);
        body.add(message);
        TargetSelection selection;
        InferMessage request;
        try {
            selection = routed.selectTarget(attributes(outline), selections);
            Target target = selection.target();
            request = body.prepare(routed.features(target.upstream()), target.model())
                    .message();
        } catch (OipException refused) {
            routed.fail(refused);
            return;
        } finally {
            body.release();
        }
        Call withAffinity = call.withAffinity(selection.affinity(), selection.sequence());
        routed.sendingUncopied(call);
        substream(withAffinity, selection.target(), outline.model(), streamed)
                .send(selection.target().model(), outline.id(), outline.emptyFinal(), request);
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
            cancelSubstreams();
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
        long bytes = undecided == null ? 0 : undecided.readableBytes();
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

    private void cancelSubstreams() {
        List<ModelSubstream> remaining = new ArrayList<>(substreams.values());
        substreams.clear();
        held.forEach(ByteBuf::release);
        held.clear();
        remaining.forEach(ModelSubstream::cancel);
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
            cancelSubstreams();
            client.fail(failure);
        }
    }

    boolean callEnded() {
        return callEnded;
    }

    Call call() {
        return call;
    }

    Reply client() {
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
