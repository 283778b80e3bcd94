package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.config.NameRule;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.Attributes;
import dev.isthmus.gateway.routing.Pick;
import dev.isthmus.gateway.routing.Picks;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.InferStream;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
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
final class StreamFlow implements RequestSink {
    private static final Logger LOG = LoggerFactory.getLogger(StreamFlow.class);

    private final Call call;
    private final boolean separate;
    private final RoutingTable routes;
    private final Traffic traffic;
    private final Transcoder transcoder;
    private final Reply client;
    private final Picks picks = new Picks();
    private final Map<Place, Branch> branches = new LinkedHashMap<>();
    private boolean ended;
    private boolean over;

    StreamFlow(Call call, boolean separate, RoutingTable routes, Traffic traffic, Transcoder transcoder, Reply client) {
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
            client.message(new Answer.StreamError(malformed, ""));
            return;
        }
        try {
            send(outline, message);
        } catch (OipException refused) {
            client.message(new Answer.StreamError(refused, outline.id()));
        } catch (RuntimeException fault) {
            LOG.error("stream of inferences on {}", outline.model(), fault);
            fail(new OipException(ErrorCode.INTERNAL, "internal error", fault));
        }
    }

    /** Takes the message. */
    private void send(ProtobufReader.Outline outline, ByteBuf message) {
        Pick pick;
        InferMessage request;
        try {
            Route route = routes.route(NameRule.checked(outline.model()));
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
        Place place = new Place(
                target,
                target.upstream().server(placed, target.model()),
                outline.model().name());
        Branch branch = branches.get(place);
        if (branch == null) {
            branch = new Branch(place);
            branches.put(place, branch);
            branch.stream = stream(placed, target, branch);
        }
        branch.stream.send(target.model(), outline.id(), outline.emptyFinal(), request);
    }

    private Attributes attributes(ProtobufReader.Outline outline) {
        return new Attributes(call.client(), outline.parameters(), outline.id());
    }

    /**
     * Where requests go that stay in order.
     *
     * @param server the one of the target's servers; any for requests without affinity
     * @param asked the model as the client names it
     */
    private record Place(Target target, Object server, String asked) {
        /** The name that answers call the model by; null for the server's. */
        @Nullable
        String answered() {
            return target.model().name().equals(asked) ? null : asked;
        }
    }

    private InferStream stream(Call placed, Target target, Branch branch) {
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
    public boolean writable() {
        // A client that takes no answers gets to ask no more: each request may be answered at once, with an error.
        return client.writable() && branches.values().stream().allMatch(branch -> branch.stream.writable());
    }

    @Override
    public long held() {
        long held = 0;
        for (Branch branch : branches.values()) {
            held += branch.stream.keptBytes();
        }
        return held;
    }

    @Override
    public void resume() {
        new ArrayList<>(branches.values()).forEach(branch -> branch.stream.resume());
        readMore();
    }

    private void readMore() {
        if (!over && writable()) {
            client.readMore();
        }
    }

    private void cancelBranches() {
        List<Branch> left = new ArrayList<>(branches.values());
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
    private final class Branch implements Reply {
        private final Place place;
        private InferStream stream = InferStream.ENDED;

        Branch(Place place) {
            this.place = place;
        }

        @Override
        public void headers(Map<String, String> headers) {
            if (!over) {
                client.headers(headers);
            }
        }

        @Override
        public void message(Answer answer) {
            if (over) {
                answer.release();
                return;
            }
            if (!(answer instanceof Answer.Inference inference)) {
                client.message(answer);
                return;
            }
            try {
                AnswerForm form = new AnswerForm(
                        Wire.PROTOBUF,
                        inference.id() == null,
                        OutputForms.JSON,
                        false,
                        Map.of(),
                        inference.id(),
                        place.answered());
                client.message(new Answer.Inference(transcoder.response(call.allocator(), inference.message(), form)));
            } catch (OipException e) {
                client.message(new Answer.StreamError(e, ""));
            }
        }

        @Override
        public boolean writable() {
            return client.writable();
        }

        @Override
        public void readMore() {
            StreamFlow.this.readMore();
        }

        @Override
        public void complete() {
            branches.remove(place, this);
            completeIfDone();
            // What it held back goes to a new branch.
            StreamFlow.this.readMore();
        }

        @Override
        public void fail(OipException failure) {
            branches.remove(place, this);
            StreamFlow.this.fail(failure);
        }
    }
}
