package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.ingress.IngressSettings.StreamForm;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One gRPC call on one HTTP/2 stream: unary, or a stream of requests and answers. */
final class GrpcExchange implements Http2Exchange, Reply {
    private static final AsciiString GRPC = AsciiString.cached("application/grpc");
    private static final AsciiString STATUS = AsciiString.cached("grpc-status");
    private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");
    private static final AsciiString ENCODING = AsciiString.cached("grpc-encoding");
    private static final AsciiString ACCEPT_ENCODING = AsciiString.cached("grpc-accept-encoding");
    private static final int PREFIX = 5;
    /** Lets one client say what the configuration says for all. */
    private static final String STREAM_FORM = "isthmus-stream-form";

    private final Http2Responder responder;
    private final IngressSettings settings;
    private final Map<String, String> returned = new LinkedHashMap<>();
    private @Nullable OpenCall opened;
    private @Nullable RequestSink sink;
    private @Nullable ByteBuf request;
    private int withheld;
    private boolean headersSent;
    private boolean ended;

    /**
     * What is known once the headers are read.
     *
     * @param coding of the client's messages, and of ours to it; null for identity
     * @param statusOfErrors whether the client wants a stream ended by its first error
     */
    private record OpenCall(
            ChannelHandlerContext ctx,
            RequestHead head,
            long deadline,
            CallHandler calls,
            GrpcDeframer deframer,
            @Nullable ContentCoding coding,
            boolean stream,
            StreamForm form,
            boolean statusOfErrors) {}

    GrpcExchange(Http2Responder responder, IngressSettings settings) {
        this.responder = responder;
        this.settings = settings;
    }

    static boolean isGrpc(Http2Headers headers) {
        CharSequence type = headers.get(HttpHeaderNames.CONTENT_TYPE);
        return type != null
                && AsciiString.of(type).startsWith(GRPC)
                && (type.length() == GRPC.length() || "+;".indexOf(type.charAt(GRPC.length())) >= 0);
    }

    @Override
    public void open(ChannelHandlerContext ctx, Http2Headers headers, CallHandler calls) {
        try {
            RequestHead head = RequestHead.of(headers);
            if (!head.method().equals("POST")) {
                throw new OipException(ErrorCode.INTERNAL, "gRPC: method POST is expected, got " + head.method());
            }
            boolean stream = GrpcRoutes.streams(head.uri());
            ContentCoding coding = coding(head.field("grpc-encoding"));
            OpenCall call = new OpenCall(
                    ctx,
                    head,
                    GrpcTimeout.deadline(headers.get("grpc-timeout"), System.nanoTime()),
                    calls,
                    new GrpcDeframer(ctx.alloc(), settings.maxBodyBytes(), coding),
                    coding,
                    stream,
                    form(head),
                    "true".equals(head.field(RequestHead.STATUS_OF_ERRORS)));
            opened = call;
            if (stream) {
                sink = start(call, new Operation.InferStream(call.form() == StreamForm.TRITON));
            }
        } catch (OipException failure) {
            fail(failure);
        }
    }

    private static @Nullable ContentCoding coding(@Nullable String encoding) {
        if (encoding == null || encoding.equals("identity")) {
            return null;
        }
        ContentCoding coding = ContentCoding.of(encoding);
        if (coding == null) {
            throw new OipException(
                    ErrorCode.UNIMPLEMENTED,
                    "header grpc-encoding: one of " + ContentCoding.ACCEPTED_BY_GRPC + " is expected, got '" + encoding
                            + "'");
        }
        return coding;
    }

    private StreamForm form(RequestHead head) {
        String asked = head.field(STREAM_FORM);
        if (asked == null) {
            return settings.streamForm();
        }
        return switch (asked) {
            case "triton" -> StreamForm.TRITON;
            case "oip" -> StreamForm.OIP;
            default ->
                throw OipException.invalid(
                        "header " + STREAM_FORM + ": triton or oip is expected, got '" + asked + "'");
        };
    }

    private RequestSink start(OpenCall call, Operation operation) {
        RequestHead head = call.head();
        Call made = new Call(
                        operation,
                        call.deadline(),
                        head.forwarded(settings.forwarded()),
                        call.ctx().executor(),
                        call.ctx().alloc())
                .from(head::joined);
        return call.calls().open(made, this);
    }

    @Override
    public void data(ByteBuf chunk) {
        OpenCall call = opened;
        if (ended || call == null) {
            chunk.release();
            return;
        }
        try {
            call.deframer().add(chunk);
            ByteBuf message = call.deframer().next();
            while (message != null) {
                take(call, message);
                message = ended ? null : call.deframer().next();
            }
        } catch (OipException failure) {
            stop(failure);
        }
    }

    private void take(OpenCall call, ByteBuf message) {
        RequestSink to = sink;
        if (call.stream() && to != null) {
            to.data(message);
            return;
        }
        if (request != null) {
            message.release();
            throw new OipException(ErrorCode.INTERNAL, "gRPC: one message is expected on a unary call, got more");
        }
        request = message;
    }

    @Override
    public boolean paused() {
        return !ended && opened != null && opened.stream() && sink != null && !sink.writable();
    }

    @Override
    public void withheld(int bytes) {
        withheld += bytes;
    }

    @Override
    public void readMore() {
        int bytes = withheld;
        withheld = 0;
        responder.consumed(bytes);
    }

    @Override
    public void end() {
        OpenCall call = opened;
        if (ended || call == null) {
            return;
        }
        boolean partial = call.deframer().partial();
        RequestSink to = sink;
        if (call.stream() && to != null && !partial) {
            to.end();
            return;
        }
        ByteBuf message = request;
        request = null;
        if (message == null || partial) {
            if (message != null) {
                message.release();
            }
            stop(new OipException(ErrorCode.INTERNAL, "gRPC: the call ended before its message was complete"));
            return;
        }
        dispatch(call, message);
    }

    private void dispatch(OpenCall call, ByteBuf message) {
        Operation operation;
        try {
            operation = GrpcRoutes.operation(call.head().uri(), message);
        } catch (OipException failure) {
            message.release();
            fail(failure);
            return;
        }
        RequestSink to = start(call, operation);
        sink = to;
        to.data(message);
        if (!ended) {
            to.end();
        }
    }

    @Override
    public void cancel() {
        if (!ended) {
            ended = true;
            releaseRequest();
            if (sink != null) {
                sink.cancel();
            }
        }
    }

    /** The call cannot go on: ends what is under way for it and answers. */
    private void stop(OipException failure) {
        if (sink != null) {
            sink.cancel();
        }
        fail(failure);
    }

    @Override
    public void becameWritable() {
        if (!ended && sink != null) {
            sink.resume();
        }
    }

    @Override
    public boolean writable() {
        return responder.writable();
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (!ended) {
            returned.putAll(headers);
        }
    }

    @Override
    public void message(Answer answer) {
        OpenCall call = opened;
        if (ended || call == null) {
            answer.release();
            return;
        }
        if (answer instanceof Answer.StreamError error) {
            if (call.form() == StreamForm.OIP || call.statusOfErrors()) {
                stop(error.failure());
            } else {
                send(
                        call,
                        StreamEnvelope.error(call.ctx().alloc(), error.failure().message(), error.id()));
            }
            return;
        }
        ByteBuf message = GrpcAnswers.encode(answer);
        send(
                call,
                call.stream() && call.form() == StreamForm.TRITON
                        ? StreamEnvelope.wrap(call.ctx().alloc(), message)
                        : message);
    }

    /** Takes the message. */
    private void send(OpenCall call, ByteBuf message) {
        boolean small = message.readableBytes() <= ContentCoding.MOST_COMPRESSED;
        ContentCoding coding = small ? call.coding() : null;
        ByteBuf out = coding == null ? message : coding.compress(call.ctx().alloc(), message);
        ByteBuf prefix = call.ctx().alloc().buffer(PREFIX, PREFIX);
        prefix.writeByte(coding == null ? 0 : 1).writeInt(out.readableBytes());
        if (!headersSent) {
            headersSent = true;
            Http2Headers headers = new DefaultHttp2Headers(false)
                    .status("200")
                    .set(HttpHeaderNames.CONTENT_TYPE, GRPC)
                    .set(ACCEPT_ENCODING, ContentCoding.ACCEPTED_BY_GRPC);
            if (call.coding() != null) {
                headers.set(ENCODING, call.coding().token());
            }
            addReturned(headers);
            responder.headers(headers, false);
        }
        responder.data(prefix, false);
        responder.data(out, false);
    }

    /** What the upstream says beside its messages: in the headers as far as it is known by then, else in the trailers. */
    private void addReturned(Http2Headers to) {
        returned.forEach(to::set);
        returned.clear();
    }

    @Override
    public void complete() {
        OpenCall call = opened;
        if (ended || call == null) {
            return;
        }
        if (!headersSent && !call.stream()) {
            fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's answer has no message"));
            return;
        }
        ended = true;
        releaseRequest();
        Http2Headers trailers = trailers();
        responder.headers(trailers.setInt(STATUS, 0), true);
    }

    private Http2Headers trailers() {
        Http2Headers trailers = new DefaultHttp2Headers(false);
        if (!headersSent) {
            trailers.status("200").set(HttpHeaderNames.CONTENT_TYPE, GRPC);
        }
        addReturned(trailers);
        return trailers;
    }

    @Override
    public void fail(OipException failure) {
        if (ended) {
            return;
        }
        ended = true;
        releaseRequest();
        Http2Headers trailers = trailers();
        trailers.setInt(STATUS, failure.code().grpcStatus()).set(MESSAGE, StatusMessage.encoded(failure.message()));
        failure.retryAfter().ifPresent(wait -> trailers.set(RetryAfter.HEADER, RetryAfter.seconds(wait)));
        if (failure.code() == ErrorCode.UNIMPLEMENTED) {
            trailers.set(ACCEPT_ENCODING, ContentCoding.ACCEPTED_BY_GRPC);
        }
        responder.headers(trailers, true);
    }

    private void releaseRequest() {
        if (request != null) {
            request.release();
            request = null;
        }
        if (opened != null) {
            opened.deframer().release();
        }
        readMore();
    }
}
