package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.Map;

/** One request of the generate extension, which is passed through. */
final class GenerateCall extends ForwardingReply {
    private final Exchange exchange;
    private final Operation.Generate generate;
    private final RoutedCall routed;
    private final ErrorEventPrefix errors = new ErrorEventPrefix();

    private GenerateCall(Exchange exchange, Operation.Generate generate) {
        super(exchange);
        this.exchange = exchange;
        this.routed = RoutedCall.of(exchange);
        this.generate = generate;
        // The time that the route gives it begins with its request.
        routed.call();
    }

    /** Creates the sink of a new call. */
    static RequestSink of(Exchange exchange, Operation.Generate generate, WireLimits limits) {
        GenerateCall flow = new GenerateCall(exchange, generate);
        return new PassThroughBody(exchange.call().allocator(), JsonCheck.passed(limits), exchange, flow::send);
    }

    /** @param body taken */
    private Subscription send(ByteBuf body) {
        Target target;
        try {
            target = routed.selectTarget(new RequestAttributes(exchange.call().client(), Map.of(), ""), null)
                    .target();
        } catch (OipException unknown) {
            body.release();
            exchange.fail(unknown);
            return Subscription.NONE;
        }
        exchange.sending();
        Operation.Generate forTarget = new Operation.Generate(target.model(), generate.stream());
        return target.service().send(routed.call(), new UpstreamRequest.GenerateRequest(forTarget, body), this);
    }

    @Override
    public void message(ReplyMessage message) {
        if (message instanceof ReplyMessage.Events events && events.content().forEachByte(errors) >= 0) {
            exchange.failsInResponse(new OipException(ErrorCode.UNKNOWN, "the server sent an error event"));
        }
        super.message(message);
    }
}
