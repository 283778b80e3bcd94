package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import org.jspecify.annotations.Nullable;

/**
 * One REST request and its response, the same over HTTP/1.1 and HTTP/2. The response may come before the request's body has
 * ended; what comes of the body after that is released.
 */
final class RestExchange implements Reply {

    /** Puts the response on the connection. Called once. */
    @FunctionalInterface
    interface Responder {
        void respond(RestResponse response);
    }

    private final Responder responder;
    private final long maxBodyBytes;
    private @Nullable RequestSink sink;
    private @Nullable RestResponse response;
    private long bodyBytes;
    private boolean answered;

    RestExchange(Responder responder, long maxBodyBytes) {
        this.responder = responder;
        this.maxBodyBytes = maxBodyBytes;
    }

    /** @param contentLength of the request's body, -1 when unknown */
    void open(RequestHead head, long contentLength, ChannelHandlerContext ctx, CallHandler calls) {
        try {
            Operation operation = RestRoutes.operation(head);
            requireBodySize(contentLength);
            requireIdentity(head.field("content-encoding"));
            Call call = new Call(operation, Call.NO_DEADLINE, head.forwarded(), ctx.executor(), ctx.alloc());
            sink = calls.open(call, this);
        } catch (OipException failure) {
            fail(failure);
        }
    }

    /** @param chunk taken */
    void data(ByteBuf chunk) {
        bodyBytes += chunk.readableBytes();
        RequestSink to = sink;
        if (answered || to == null) {
            chunk.release();
        } else if (bodyBytes > maxBodyBytes) {
            chunk.release();
            cancelWith(tooLarge(bodyBytes + " bytes or more"));
        } else {
            to.data(chunk);
        }
    }

    void end() {
        if (!answered && sink != null) {
            sink.end();
        }
    }

    /** The client has gone. */
    void cancel() {
        if (!answered) {
            answered = true;
            drop();
            if (sink != null) {
                sink.cancel();
            }
        }
    }

    /** The request cannot go on: ends what is under way for it and answers. */
    void cancelWith(OipException failure) {
        if (sink != null) {
            sink.cancel();
        }
        fail(failure);
    }

    boolean answered() {
        return answered;
    }

    @Override
    public void message(Answer answer) {
        if (answered || response != null) {
            answer.release();
        } else {
            response = render(answer);
        }
    }

    @Override
    public void complete() {
        if (answered) {
            return;
        }
        RestResponse complete = response;
        response = null;
        if (complete == null) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's answer has no message"));
        } else {
            answered = true;
            responder.respond(complete);
        }
    }

    @Override
    public void fail(OipException failure) {
        if (!answered) {
            answered = true;
            drop();
            responder.respond(RestResponse.error(failure));
        }
    }

    private void drop() {
        if (response != null) {
            response.body().release();
            response = null;
        }
    }

    private static RestResponse render(Answer answer) {
        return switch (answer) {
            case Answer.Live live -> RestResponse.json(status(live.live()), JsonAnswers.live(live));
            case Answer.Ready ready -> RestResponse.json(status(ready.ready()), JsonAnswers.ready(ready));
            case Answer.ModelReady model -> RestResponse.json(status(model.ready()), JsonAnswers.modelReady(model));
            case Answer.Server server -> RestResponse.json(200, JsonAnswers.server(server.metadata()));
            case Answer.Model model -> RestResponse.json(200, JsonAnswers.model(model.metadata()));
            case Answer.Inference inference -> RestResponse.inference(((InferMessage.Rest) inference.message()).body());
        };
    }

    /** A health request's "no" is a 4xx status (protocol document, Health; R2). */
    private static int status(boolean yes) {
        return yes ? 200 : 400;
    }

    private void requireBodySize(long contentLength) {
        if (contentLength > maxBodyBytes) {
            throw tooLarge(contentLength + " bytes");
        }
    }

    private OipException tooLarge(String got) {
        return new OipException(
                ErrorCode.PAYLOAD_TOO_LARGE, "request body: at most " + maxBodyBytes + " bytes are taken, got " + got);
    }

    private static void requireIdentity(@Nullable String encoding) {
        if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw new OipException(
                    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                    "header Content-Encoding: identity is expected, got '" + encoding + "'");
        }
    }
}
