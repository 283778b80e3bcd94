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
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
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
 * that requests to one model stay in order; random choices are made once per stream. A rejected request is answered in
 * the stream, which continues.
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
        RouteCall routed;
        try {
            rules.check(call.context(), Permission.STREAM, NameGrammar.checked(outline.model()));
            Route route = routes.route(outline.model());
            routed = new RouteCall(call, route, outline.model(), policies, rules);
            routed.received(message.readableBytes());
            routed.complete();
        } catch (OipException unknown) {
            message.release();
            throw unknown;
        }
        if (routed.undecided() == null) {
            send(outline, routed, message);
            return;
        }
        undecided = message;
        RateWait.then(routed.undecided(), call.loop(), refusal -> decided(outline, routed, message, refusal));
    }

    private void decided(
            ProtobufReader.Outline outline, RouteCall routed, ByteBuf message, @Nullable OipException refusal) {
        undecided = null;
        if (callEnded) {
            message.release();
            return;
        }
        if (refusal == null) {
            guarded(outline, () -> send(outline, routed, message));
        } else {
            message.release();
            client.message(new ReplyMessage.StreamError(refusal, outline.id()));
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
    private void send(ProtobufReader.Outline outline, RouteCall routed, ByteBuf message) {
        TargetSelection selection;
        InferMessage request;
        try {
            selection = routed.route().pick(outline.model(), attributes(outline), selections);
        } catch (OipException unknown) {
            message.release();
            throw unknown;
        }
        Target target = selection.target();
        call.context().sentTo(target.upstream().name(), target.model());
        ProtobufBody body = new ProtobufBody(transcoder, call.allocator(), outline);
        body.add(message);
        try {
            request = body.prepare(routed.features(target.upstream()), target.model())
                    .message();
        } finally {
            body.release();
        }
        Call withAffinity = call.withAffinity(selection.affinity(), selection.sequence());
        StreamTarget key = new StreamTarget(
                target,
                target.upstream().server(withAffinity, target.model()),
                outline.model().name());
        ModelSubstream substream = substreams.get(key);
        if (substream == null) {
            substream = new ModelSubstream(key);
            substreams.put(key, substream);
            substream.stream = stream(withAffinity, target, substream);
        }
        substream.stream.send(target.model(), outline.id(), outline.emptyFinal(), request);
    }

    private RequestAttributes attributes(ProtobufReader.Outline outline) {
        return new RequestAttributes(call.client(), outline.parameters(), outline.id());
    }

    /**
     * The key of a substream, in which requests stay in order.
     *
     * @param server one of the target's servers; any for requests without affinity
     * @param requested the model as the client names it
     */
    private record StreamTarget(Target target, Object server, String requested) {
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
        new ArrayList<>(substreams.values()).forEach(substream -> substream.stream.end());
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
                && substreams.values().stream().allMatch(substream -> substream.stream.isReady());
    }

    @Override
    public long held() {
        long bytes = undecided == null ? 0 : undecided.readableBytes();
        bytes += held.stream().mapToLong(ByteBuf::readableBytes).sum();
        for (ModelSubstream substream : substreams.values()) {
            bytes += substream.stream.keptBytes();
        }
        return bytes;
    }

    @Override
    public void onReady() {
        new ArrayList<>(substreams.values()).forEach(substream -> substream.stream.onReady());
        resumeReading();
    }

    private void resumeReading() {
        if (!callEnded && isReady()) {
            client.onReady();
        }
    }

    private void cancelSubstreams() {
        List<ModelSubstream> remaining = new ArrayList<>(substreams.values());
        substreams.clear();
        held.forEach(ByteBuf::release);
        held.clear();
        remaining.forEach(substream -> substream.stream.cancel());
    }

    private void completeIfDone() {
        if (ended && !callEnded && substreams.isEmpty()) {
            callEnded = true;
            client.complete();
        }
    }

    private void fail(OipException failure) {
        if (!callEnded) {
            callEnded = true;
            cancelSubstreams();
            client.fail(failure);
        }
    }

    /** The requests to one model, and their responses. */
    private final class ModelSubstream implements Reply {
        private final StreamTarget key;
        private UpstreamStream stream = UpstreamStream.ENDED;

        ModelSubstream(StreamTarget key) {
            this.key = key;
        }

        @Override
        public void headers(Map<String, String> headers) {
            if (!callEnded) {
                client.headers(headers);
            }
        }

        @Override
        public void message(ReplyMessage message) {
            if (callEnded) {
                message.release();
                return;
            }
            if (message instanceof ReplyMessage.StreamError error) {
                client.message(new ReplyMessage.StreamError(key.named(error.failure()), error.id()));
                return;
            }
            if (!(message instanceof ReplyMessage.Inference inference)) {
                client.message(message);
                return;
            }
            try {
                ResponseForm form = new ResponseForm(
                        Wire.PROTOBUF,
                        inference.id() == null,
                        OutputForms.JSON,
                        false,
                        Map.of(),
                        inference.id(),
                        key.responseModel());
                client.message(
                        new ReplyMessage.Inference(transcoder.response(call.allocator(), inference.message(), form)));
            } catch (OipException e) {
                client.message(new ReplyMessage.StreamError(e, ""));
            }
        }

        @Override
        public boolean isReady() {
            return client.isReady();
        }

        @Override
        public void onReady() {
            StreamCallFlow.this.resumeReading();
        }

        @Override
        public void complete() {
            substreams.remove(key, this);
            completeIfDone();
            // Requests that it held back are sent to a new substream.
            StreamCallFlow.this.resumeReading();
        }

        @Override
        public void fail(OipException failure) {
            substreams.remove(key, this);
            StreamCallFlow.this.fail(key.named(failure));
        }
    }
}
