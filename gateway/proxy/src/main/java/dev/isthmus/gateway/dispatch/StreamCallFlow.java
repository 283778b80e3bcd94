package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.StreamSelections;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.settings.NameGrammar;
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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A stream of inference requests. Each goes to the target of its model, over one stream for each target and server, so that
 * requests to one model stay in order: what chance decides it decides once for a stream. A request that is refused is
 * answered in the stream, which goes on.
 */
final class StreamCallFlow implements RequestSink {
    private static final Logger LOG = LoggerFactory.getLogger(StreamCallFlow.class);

    private final Call call;
    private final boolean separate;
    private final RoutingTable routes;
    private final RoutePolicyTable traffic;
    private final Transcoder transcoder;
    private final Reply client;
    private final StreamSelections picks = new StreamSelections();
    private final Map<StreamTarget, ModelSubstream> branches = new LinkedHashMap<>();
    private boolean ended;
    private boolean over;

    StreamCallFlow(
            Call call,
            boolean separate,
            RoutingTable routes,
            RoutePolicyTable traffic,
            Transcoder transcoder,
            Reply client) {
        this.call = call;
        this.separate = separate;
        this.routes = routes;
        this.traffic = traffic;
        this.transcoder = transcoder;
        this.client = client;
    }

    @Override
    public void data(ByteBuf message) {
        if (over || ended) {
            message.release();
            return;
        }
        ProtobufReader.Outline outline;
        try {
            outline = ProtobufReader.outline(message);
        } catch (OipException malformed) {
            message.release();
            client.message(new ReplyMessage.StreamError(malformed, ""));
            return;
        }
        try {
            send(outline, message);
        } catch (OipException refused) {
            client.message(new ReplyMessage.StreamError(refused, outline.id()));
        } catch (RuntimeException fault) {
            LOG.error("stream of inferences on {}", outline.model(), fault);
            fail(new OipException(ErrorCode.INTERNAL, "internal error", fault));
        }
    }

    /** Takes the message. */
    private void send(ProtobufReader.Outline outline, ByteBuf message) {
        TargetSelection pick;
        InferMessage request;
        try {
            Route route = routes.route(NameGrammar.checked(outline.model()));
            RouteCall routed = new RouteCall(call, route, outline.model(), traffic);
            routed.received(message.readableBytes());
            routed.complete();
            pick = route.pick(outline.model(), attributes(outline), picks);
        } catch (OipException unknown) {
            message.release();
            throw unknown;
        }
        Target target = pick.target();
        ProtobufBody body = new ProtobufBody(transcoder, call.allocator(), outline);
        body.add(message);
        try {
            request = body.prepare(target.upstream().peer(), target.model()).message();
        } finally {
            body.release();
        }
        Call placed = call.withAffinity(pick.affinity(), pick.sequence());
        StreamTarget place = new StreamTarget(
                target,
                target.upstream().server(placed, target.model()),
                outline.model().name());
        ModelSubstream branch = branches.get(place);
        if (branch == null) {
            branch = new ModelSubstream(place);
            branches.put(place, branch);
            branch.stream = stream(placed, target, branch);
        }
        branch.stream.send(target.model(), outline.id(), outline.emptyFinal(), request);
    }

    private RequestAttributes attributes(ProtobufReader.Outline outline) {
        return new RequestAttributes(call.client(), outline.parameters(), outline.id());
    }

    /**
     * Where requests go that stay in order.
     *
     * @param server the one of the target's servers; any for requests without affinity
     * @param asked the model as the client names it
     */
    private record StreamTarget(Target target, Object server, String asked) {
        /** The name that answers call the model by; null for the server's. */
        @Nullable
        String answered() {
            return target.model().name().equals(asked) ? null : asked;
        }
    }

    private UpstreamStream stream(Call placed, Target target, ModelSubstream branch) {
        boolean oneByOne = separate && target.upstream().peer().dialect().wholeStreams();
        return oneByOne
                ? new UnaryStream(target.upstream(), placed, branch)
                : target.upstream().inferStream(placed, target.model(), branch);
    }

    @Override
    public void end() {
        if (over || ended) {
            return;
        }
        ended = true;
        new ArrayList<>(branches.values()).forEach(branch -> branch.stream.end());
        completeIfDone();
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            cancelBranches();
        }
    }

    @Override
    public boolean isReady() {
        // A client that takes no answers gets to ask no more: each request may be answered at once, with an error.
        return client.isReady() && branches.values().stream().allMatch(branch -> branch.stream.isReady());
    }

    @Override
    public long held() {
        long held = 0;
        for (ModelSubstream branch : branches.values()) {
            held += branch.stream.keptBytes();
        }
        return held;
    }

    @Override
    public void onReady() {
        new ArrayList<>(branches.values()).forEach(branch -> branch.stream.onReady());
        readMore();
    }

    private void readMore() {
        if (!over && isReady()) {
            client.onReady();
        }
    }

    private void cancelBranches() {
        List<ModelSubstream> left = new ArrayList<>(branches.values());
        branches.clear();
        left.forEach(branch -> branch.stream.cancel());
    }

    private void completeIfDone() {
        if (ended && !over && branches.isEmpty()) {
            over = true;
            client.complete();
        }
    }

    private void fail(OipException failure) {
        if (!over) {
            over = true;
            cancelBranches();
            client.fail(failure);
        }
    }

    /** The requests to one model, and their answers. */
    private final class ModelSubstream implements Reply {
        private final StreamTarget place;
        private UpstreamStream stream = UpstreamStream.ENDED;

        ModelSubstream(StreamTarget place) {
            this.place = place;
        }

        @Override
        public void headers(Map<String, String> headers) {
            if (!over) {
                client.headers(headers);
            }
        }

        @Override
        public void message(ReplyMessage answer) {
            if (over) {
                answer.release();
                return;
            }
            if (!(answer instanceof ReplyMessage.Inference inference)) {
                client.message(answer);
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
                        place.answered());
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
            StreamCallFlow.this.readMore();
        }

        @Override
        public void complete() {
            branches.remove(place, this);
            completeIfDone();
            // What it held back goes to a new branch.
            StreamCallFlow.this.readMore();
        }

        @Override
        public void fail(OipException failure) {
            branches.remove(place, this);
            StreamCallFlow.this.fail(failure);
        }
    }
}
