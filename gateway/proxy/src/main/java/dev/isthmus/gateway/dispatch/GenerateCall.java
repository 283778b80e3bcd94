package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request of the generate extension, which is passed through. If the target fails before responding, with a failure
 * of the server, the request is sent to the route's fallback.
 */
final class GenerateCall extends ForwardingReply implements Subscription {
    private final Exchange exchange;
    private final Operation.Generate generate;
    private final RoutedCall routed;
    private final ErrorEventPrefix errors = new ErrorEventPrefix();
    private Call call;
    private @Nullable Target fallback;
    /** The body for the fallback. */
    private @Nullable ByteBuf kept;

    private Subscription inFlight = Subscription.NONE;
    private boolean ended;

    private GenerateCall(Exchange exchange, Operation.Generate generate) {
        super(exchange);
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.call = exchange.call().within(routed.route().config().timeout());
        this.generate = generate;
        this.fallback = routed.route().fallback(generate.model());
    }

    /** Creates the sink of a new call. */
    static RequestSink of(Exchange exchange, Operation.Generate generate, WireLimits limits) {
        GenerateCall flow = new GenerateCall(exchange, generate);
        return new PassThroughBody(exchange.call().allocator(), JsonCheck.passed(limits), exchange, flow::send);
    }

    /** @param body taken */
    private Subscription send(ByteBuf body) {
        TargetSelection selection;
        try {
            selection = routed.selectTarget(new RequestAttributes(call.client(), Map.of(), ""), null);
        } catch (OipException unknown) {
            body.release();
            exchange.fail(unknown);
            return Subscription.NONE;
        }
        call = call.withAffinity(selection.affinity());
        kept = fallback == null ? null : body.retainedDuplicate();
        routed.sendingUncopied(call);
        Subscription started = send(selection.target(), body);
        if (!routed.failedOver()) {
            inFlight = started;
        }
        return this;
    }

    private Subscription send(Target target, ByteBuf body) {
        Operation.Generate forTarget = new Operation.Generate(target.model(), generate.stream());
        return target.upstream().send(call, new UpstreamRequest.GenerateRequest(forTarget, body), this);
    }

    @Override
    public void message(ReplyMessage message) {
        releaseKept();
        if (message instanceof ReplyMessage.Events events && events.content().forEachByte(errors) >= 0) {
            exchange.failsInResponse(new OipException(ErrorCode.UNKNOWN, "the server sent an error event"));
        }
        super.message(message);
    }

    @Override
    public void complete() {
        end();
        super.complete();
    }

    @Override
    public void fail(OipException failure) {
        Target next = fallback;
        ByteBuf body = kept;
        if (!ended && next != null && body != null && RoutedCall.fallsBack(call, failure)) {
            routed.failedOver(failure, next);
            fallback = null;
            kept = null;
            inFlight = send(next, body).cancelIf(ended);
            return;
        }
        end();
        super.fail(failure);
    }

    @Override
    public void cancel() {
        end();
        inFlight.cancel();
    }

    private void end() {
        ended = true;
        releaseKept();
    }

    private void releaseKept() {
        if (kept != null) {
            kept.release();
            kept = null;
        }
    }

    @Override
    public void onReady() {
        inFlight.onReady();
    }
}
