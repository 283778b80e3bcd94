package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.Transcoder;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The request of one inference as it comes. It is gathered, and its target chosen when it is complete; a large one whose route
 * lets it goes on in parts, to a target that is chosen when its head has come.
 */
final class IncomingRequest implements RequestSink {
    private final Call call;
    private final RouteCall routed;
    private final RequestBody body;
    private final InferCall flow;
    /** Whether it goes to no place that has bodies of its size gathered. */
    private final boolean large;
    /** Whether the request may still turn out to be one that passes. */
    private boolean open;

    private @Nullable TargetSelection pick;
    private @Nullable RequestUpload upload;

    private IncomingRequest(
            Call call, RouteCall routed, RequestBody body, InferCall flow, boolean open, boolean large) {
        this.call = call;
        this.routed = routed;
        this.body = body;
        this.flow = flow;
        this.open = open;
        this.large = large;
    }

    /** The sink of a call that begins. */
    static RequestSink of(
            Call call, Operation.Infer infer, RouteCall routed, Reply client, Transcoder transcoder, InferRules rules) {
        RequestBody body = switch (infer.form()) {
            case BodyForm.RestForm rest -> restBody(call, infer, rest, routed, transcoder, rules);
            case BodyForm.ProtobufForm protobuf ->
                new ProtobufBody(transcoder, call.allocator(), protobuf.outline(), protobuf.inParts());
        };
        InferCall flow = new InferCall(call, infer, routed, client, transcoder, body);
        // That of a message is known when it begins to come.
        long most = infer.form() instanceof BodyForm.RestForm rest ? rest.bodyLength() : Long.MAX_VALUE;
        // Whatever may have to be sent once more is kept whole.
        boolean open = most > smallest(routed)
                && !infer.stream()
                && !body.needsMetadata()
                && !flow.hasFallback()
                && !routed.shadowed();
        return new IncomingRequest(call, routed, body, flow, open, open && most > largest(routed));
    }

    private static RequestBody restBody(
            Call call,
            Operation.Infer infer,
            BodyForm.RestForm rest,
            RouteCall routed,
            Transcoder transcoder,
            InferRules rules) {
        if (rest.jsonLength() == 0) {
            return new RawBinaryBody(transcoder, call.allocator(), infer.model(), infer.stream());
        }
        return new JsonBody(
                transcoder,
                call.allocator(),
                infer.model(),
                rest,
                rest.nonFinite() == null ? rules.nonFinite() : rest.nonFinite(),
                infer.stream(),
                JsonReadMode.of(routed.route(), rest.jsonLength()),
                rules.limits());
    }

    @Override
    public void data(ByteBuf chunk) {
        if (flow.over()) {
            chunk.release();
            return;
        }
        routed.received(chunk.readableBytes());
        try {
            body.add(chunk);
            passOn();
        } catch (RuntimeException | OutOfMemoryError e) {
            flow.stop(e);
        }
    }

    private void passOn() {
        StreamedRequest passing = open ? body.passing() : null;
        if (passing != null) {
            open = false;
            if (passing.length() > smallest(routed)) {
                begin(passing);
            }
        }
        if (upload != null) {
            upload.forward();
        }
    }

    /** Of the messages that any of the route's upstreams takes in parts. */
    private static long smallest(RouteCall routed) {
        long smallest = Long.MAX_VALUE;
        for (Upstream upstream : routed.route().upstreams()) {
            smallest = Math.min(smallest, upstream.passesFrom());
        }
        return smallest;
    }

    /** Of the messages that not all of them take in parts. */
    private static long largest(RouteCall routed) {
        long largest = 0;
        for (Upstream upstream : routed.route().upstreams()) {
            largest = Math.max(largest, upstream.passesFrom());
        }
        return largest;
    }

    /** What is chosen here holds, also where the request is gathered after all. */
    private void begin(StreamedRequest passing) {
        routed.expects(passing.length());
        TargetSelection chosen = choose();
        pick = chosen;
        if (passing.length() > chosen.target().upstream().passesFrom()) {
            upload = flow.pass(chosen, passing);
        }
    }

    private TargetSelection choose() {
        return routed.pick(new RequestAttributes(call.client(), body.parameters(), body.id()));
    }

    @Override
    public long held() {
        if (flow.over()) {
            return 0;
        }
        return upload == null ? body.held() : body.held() + upload.held();
    }

    @Override
    public boolean isReady() {
        return upload == null || upload.isReady();
    }

    @Override
    public boolean inOnePiece() {
        return !large && upload == null;
    }

    @Override
    public void end() {
        if (flow.over()) {
            return;
        }
        try {
            routed.complete();
            body.end();
            if (upload != null) {
                routed.sendingLast();
                upload.end();
            } else {
                flow.send(pick == null ? choose() : pick);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            flow.stop(e);
        }
    }

    @Override
    public void cancel() {
        flow.cancel();
    }

    @Override
    public void onReady() {
        flow.onReplyReady();
    }
}
