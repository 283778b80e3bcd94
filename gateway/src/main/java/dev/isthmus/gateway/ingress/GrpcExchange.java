package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallHandler;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** One unary gRPC call on one HTTP/2 stream. */
final class GrpcExchange implements Http2Exchange, Reply {
    private static final AsciiString GRPC = AsciiString.cached("application/grpc");
    private static final AsciiString STATUS = AsciiString.cached("grpc-status");
    private static final AsciiString MESSAGE = AsciiString.cached("grpc-message");

    private final Http2Responder responder;
    private final long maxMessageBytes;
    private @Nullable OpenCall opened;
    private boolean headersSent;
    private boolean ended;

    /** What is known once the headers are read. */
    private record OpenCall(
            ChannelHandlerContext ctx, RequestHead head, long deadline, CallHandler calls, GrpcDeframer deframer) {}

    private @Nullable RequestSink sink;
    private @Nullable ByteBuf request;

    GrpcExchange(Http2Responder responder, long maxMessageBytes) {
        this.responder = responder;
        this.maxMessageBytes = maxMessageBytes;
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
            GrpcRoutes.requireServed(head.uri());
            requireIdentity(head.field("grpc-encoding"));
            long deadline = GrpcTimeout.deadline(headers.get("grpc-timeout"), System.nanoTime());
            opened = new OpenCall(ctx, head, deadline, calls, new GrpcDeframer(ctx.alloc(), maxMessageBytes));
        } catch (OipException failure) {
            fail(failure);
        }
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
            for (ByteBuf message = call.deframer().next();
                    message != null;
                    message = call.deframer().next()) {
                takeRequest(message);
            }
        } catch (OipException failure) {
            fail(failure);
        }
    }

    private void takeRequest(ByteBuf message) {
        if (request != null) {
            message.release();
            throw new OipException(ErrorCode.INTERNAL, "gRPC: one message is expected on a unary call, got more");
        }
        request = message;
    }

    @Override
    public void end() {
        OpenCall call = opened;
        if (ended || call == null) {
            return;
        }
        ByteBuf message = request;
        request = null;
        if (message == null || call.deframer().partial()) {
            if (message != null) {
                message.release();
            }
            fail(new OipException(ErrorCode.INTERNAL, "gRPC: the call ended before its message was complete"));
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
        RequestSink to = call.calls()
                .open(
                        new Call(
                                operation,
                                call.deadline(),
                                call.head().forwarded(),
                                call.ctx().executor(),
                                call.ctx().alloc()),
                        this);
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

    @Override
    public void message(Answer answer) {
        OpenCall call = opened;
        if (ended || call == null) {
            answer.release();
            return;
        }
        ByteBuf message = GrpcAnswers.encode(answer);
        ByteBuf prefix = call.ctx().alloc().buffer(5, 5);
        prefix.writeByte(0).writeInt(message.readableBytes());
        if (!headersSent) {
            headersSent = true;
            responder.headers(
                    new DefaultHttp2Headers(false).status("200").set(HttpHeaderNames.CONTENT_TYPE, GRPC), false);
        }
        responder.data(prefix, false);
        responder.data(message, false);
    }

    @Override
    public void complete() {
        if (!ended) {
            if (!headersSent) {
                fail(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's answer has no message"));
                return;
            }
            ended = true;
            responder.headers(new DefaultHttp2Headers(false).setInt(STATUS, 0), true);
        }
    }

    @Override
    public void fail(OipException failure) {
        if (ended) {
            return;
        }
        ended = true;
        releaseRequest();
        Http2Headers trailers = new DefaultHttp2Headers(false);
        if (!headersSent) {
            trailers.status("200").set(HttpHeaderNames.CONTENT_TYPE, GRPC);
        }
        trailers.setInt(STATUS, failure.code().grpcStatus()).set(MESSAGE, percentEncoded(failure.message()));
        if (failure.code() == ErrorCode.UNIMPLEMENTED) {
            trailers.set("grpc-accept-encoding", "identity");
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
    }

    private static void requireIdentity(@Nullable String encoding) {
        if (encoding != null && !encoding.equals("identity")) {
            throw new OipException(
                    ErrorCode.UNIMPLEMENTED, "header grpc-encoding: 'identity' is expected, got '" + encoding + "'");
        }
    }

    /** As gRPC writes grpc-message: UTF-8, with everything but printable ASCII, and the percent sign, escaped. */
    static String percentEncoded(String message) {
        StringBuilder encoded = new StringBuilder(message.length() + 16);
        for (byte b : message.getBytes(StandardCharsets.UTF_8)) {
            if (b >= 0x20 && b < 0x7f && b != '%') {
                encoded.append((char) b);
            } else {
                encoded.append('%').append(String.format("%02X", b));
            }
        }
        return encoded.toString();
    }
}
