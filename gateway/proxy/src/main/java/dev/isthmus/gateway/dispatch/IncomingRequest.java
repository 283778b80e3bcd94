package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.transcoder.Transcoder;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The request of one inference while it arrives. It is gathered, and its target selected when it is complete; a large
 * request is forwarded in parts if its route allows that, to a target that is selected when its head is complete.
 */
final class IncomingRequest implements RequestSink {
    private final Exchange exchange;
    private final RoutedCall routed;
    private final RequestBody body;
    private final InferCall flow;
    /** Whether every upstream of the route accepts bodies of its size in parts. */
    private final boolean large;
    /** Whether it may still be forwarded in parts. */
    private boolean open;

    private @Nullable RequestUpload upload;

    private IncomingRequest(Exchange exchange, RequestBody body, InferCall flow, boolean open, boolean large) {
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.body = body;
        this.flow = flow;
        this.open = open;
        this.large = large;
    }

    /** Creates the sink of a new call. */
    static RequestSink of(Exchange exchange, Operation.Infer infer, Transcoder transcoder, InferRules rules) {
        RoutedCall routed = RoutedCall.of(exchange);
        RequestBody body = switch (infer.form()) {
            case BodyForm.RestForm rest
            when rest.jsonLength() == 0 -> new RawBinaryBody(exchange, infer, transcoder, rules.nonFinite(rest));
            case BodyForm.RestForm rest -> new JsonBody(exchange, infer, rest, transcoder, rules);
            case BodyForm.ProtobufForm protobuf -> new ProtobufBody(exchange, infer.model(), transcoder, protobuf);
        };
        InferCall flow = new InferCall(exchange, infer, transcoder, body);
        // The length of a protobuf message is not known before its first part.
        long maxLength = infer.form() instanceof BodyForm.RestForm rest ? rest.bodyLength() : Long.MAX_VALUE;
        // A request that may have to be sent again is gathered.
        boolean open =
                maxLength > smallest(routed) && !infer.stream() && !body.needsMetadata() && !exchange.transforms();
        return new IncomingRequest(exchange, body, flow, open, open && maxLength > largest(routed));
    }

    @Override
    public void data(ByteBuf chunk) {
        if (flow.isEnded()) {
            chunk.release();
            return;
        }
        try {
            body.add(chunk);
            forward();
        } catch (RuntimeException | OutOfMemoryError e) {
            flow.abort(e);
        }
    }

    private void forward() {
        StreamedRequest streamed = open ? body.streamed() : null;
        if (streamed != null) {
            open = false;
            if (streamed.length() > smallest(routed)) {
                begin(streamed);
            }
        }
        if (upload != null) {
            upload.forward();
        }
    }

    /** The smallest message that any upstream of the route accepts in parts. */
    private static long smallest(RoutedCall routed) {
        long smallest = Long.MAX_VALUE;
        for (Upstream service : routed.route().services()) {
            smallest = Math.min(smallest, service.passesFrom());
        }
        return smallest;
    }

    /** The largest message that some upstream of the route does not accept in parts. */
    private static long largest(RoutedCall routed) {
        long largest = 0;
        for (Upstream service : routed.route().services()) {
            largest = Math.max(largest, service.passesFrom());
        }
        return largest;
    }

    /** Selects the target, which it keeps, even if the request is gathered after all. */
    private void begin(StreamedRequest streamed) {
        if (!exchange.sized(streamed.length())) {
            // Gathered meanwhile, and sent when it is complete and admitted.
            return;
        }
        Target selected = select();
        if (streamed.length() > selected.service().passesFrom()) {
            upload = flow.startUpload(selected, streamed);
        }
    }

    private Target select() {
        return routed.selectTarget(new RequestAttributes(exchange.call().client(), body.parameters(), body.id()), null);
    }

    @Override
    public long held() {
        if (flow.isEnded()) {
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
        if (flow.isEnded()) {
            return;
        }
        try {
            body.end();
            if (upload != null) {
                if (!exchange.isResponding()) {
                    exchange.sending();
                }
                upload.end();
            } else {
                Target selected = routed.target();
                flow.send(selected == null ? select() : selected);
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            flow.abort(e);
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
