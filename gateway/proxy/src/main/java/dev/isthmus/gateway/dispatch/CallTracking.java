package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.ForwardingSink;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * The outermost layer: records the progress of each call in its context, and notifies observers of its start and its
 * end, which is the first of complete, fail and cancel. Thread-safe.
 */
final class CallTracking extends ForwardingService {
    private final List<CallObserver> observers;
    private final LongSupplier nanoTime;

    /** @param observers notified in this order */
    CallTracking(Service next, List<CallObserver> observers, LongSupplier nanoTime) {
        super(next);
        this.observers = observers;
        this.nanoTime = nanoTime;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        CallContext context = call.context();
        context.began(call.operation());
        began(context);
        try {
            return new ContextSink(context, super.open(call, new ContextReply(context, reply)));
        } catch (RuntimeException fault) {
            context.failed(new OipException(ErrorCode.INTERNAL, "internal error", fault));
            ended(context);
            throw fault;
        } finally {
            routed(context);
        }
    }

    private void routed(CallContext context) {
        for (CallObserver observer : observers) {
            observer.routed(context);
        }
    }

    @Override
    public void reject(CallContext context, OipException refusal, Reply reply) {
        began(context);
        routed(context);
        new ContextReply(context, reply).fail(refusal);
    }

    private void began(CallContext context) {
        for (CallObserver observer : observers) {
            observer.began(context);
        }
    }

    private void ended(CallContext context) {
        if (context.ended(nanoTime.getAsLong())) {
            for (CallObserver observer : observers) {
                observer.ended(context);
            }
        }
    }

    private static int size(ReplyMessage message) {
        return switch (message) {
            case ReplyMessage.Inference inference -> size(inference.message());
            case ReplyMessage.Part part -> part.bytes().readableBytes();
            case ReplyMessage.Document document -> document.content().readableBytes();
            case ReplyMessage.Events events -> events.content().readableBytes();
            case ReplyMessage.Live live -> 0;
            case ReplyMessage.Ready ready -> 0;
            case ReplyMessage.ModelReadyState ready -> 0;
            case ReplyMessage.Server server -> 0;
            case ReplyMessage.Model model -> 0;
            case ReplyMessage.StreamError error -> 0;
        };
    }

    private static int size(InferMessage message) {
        return switch (message) {
            case InferMessage.RestMessage rest -> rest.body().content().readableBytes();
            case InferMessage.ProtobufMessage protobuf -> protobuf.message().readableBytes();
            case InferMessage.DecodedRequest request -> 0;
            case InferMessage.Response response -> 0;
        };
    }

    private final class ContextReply extends ForwardingReply {
        private final CallContext context;

        ContextReply(CallContext context, Reply client) {
            super(client);
            this.context = context;
        }

        @Override
        public void message(ReplyMessage message) {
            if (!context.responding()) {
                context.responseBegan(nanoTime.getAsLong());
            }
            context.responseSent(size(message));
            super.message(message);
        }

        @Override
        public void complete() {
            try {
                super.complete();
            } finally {
                ended(context);
            }
        }

        @Override
        public void fail(OipException failure) {
            context.failed(failure);
            // The error is the response.
            context.responseBegan(nanoTime.getAsLong());
            try {
                super.fail(failure);
            } finally {
                ended(context);
            }
        }
    }

    private final class ContextSink extends ForwardingSink {
        private final CallContext context;

        ContextSink(CallContext context, RequestSink sink) {
            super(sink);
            this.context = context;
        }

        @Override
        public void data(ByteBuf chunk) {
            context.received(chunk.readableBytes());
            super.data(chunk);
        }

        @Override
        public void end() {
            context.requestComplete(nanoTime.getAsLong());
            super.end();
        }

        @Override
        public void cancel() {
            context.cancelled();
            try {
                super.cancel();
            } finally {
                ended(context);
            }
        }
    }
}
