package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.net.LingeringClose;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HTTP/1.1 of one connection: one request at a time, in order. What a client sends while a reply is awaited, or while it does
 * not read those before, waits in the {@link PausingDecoder} until its turn, and meanwhile no more is read.
 */
final class Http1Handler extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(Http1Handler.class);

    private static final String CONTENT_LENGTH = HttpHeaderNames.CONTENT_LENGTH.toString();

    private final ListenerContext entry;
    private final BodyReadBuffer landing;
    private final Turn turn;
    private final TimedRequestDecoder decoder = new TimedRequestDecoder(this::takesMore);
    private final EndWatch end = new EndWatch(decoder);
    private final Deque<HttpObject> kept = new ArrayDeque<>();
    private @Nullable RestExchange exchange;
    private boolean bodyEnded;
    private boolean keepAlive;
    private boolean http10;
    private boolean pumping;
    private boolean resuming;
    /** The last answer is written, and what still comes is dropped. */
    private boolean leaving;

    private long discarded;

    Http1Handler(Channel channel, ListenerContext entry, BodyReadBuffer landing) {
        this.entry = entry;
        this.landing = landing;
        this.turn = new Turn(channel.eventLoop(), () -> goOn(channel));
        decoder.setCumulator(BodyReadBuffer::cumulate);
    }

    /** Stands before this in the pipeline. */
    TimedRequestDecoder decoder() {
        return decoder;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (leaving) {
            ReferenceCountUtil.release(message);
            return;
        }
        kept.add((HttpObject) message);
        pump(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        turn.readComplete();
        end.readComplete(ctx);
        ctx.fireChannelReadComplete();
    }

    private void goOn(Channel channel) {
        if (channel.isActive()) {
            pump(channel.pipeline().context(this));
        }
    }

    /** Takes what is kept until a reply must be awaited. */
    private void pump(ChannelHandlerContext ctx) {
        if (pumping) {
            return;
        }
        pumping = true;
        while (ctx.channel().isActive()) {
            // Without keep-alive it closes once the answer is out.
            if (exchange != null && exchange.answered() && bodyEnded && keepAlive) {
                exchange = null;
            }
            if (kept.isEmpty() || !free(ctx)) {
                break;
            }
            take(ctx, kept.remove());
        }
        pumping = false;
        readOn(ctx);
    }

    /** Whether the next message can be looked at now: no request begins while the client does not take the answers before. */
    private boolean free(ChannelHandlerContext ctx) {
        return !turn.over() && (exchange == null ? ctx.channel().isWritable() : !bodyEnded);
    }

    /** Whether the decoder may go on. */
    boolean takesMore(ChannelHandlerContext ctx) {
        return leaving || (kept.isEmpty() && free(ctx));
    }

    /** First what was read and waits, then the socket. */
    private void readOn(ChannelHandlerContext ctx) {
        if (resuming) {
            return;
        }
        resuming = true;
        decoder.resume();
        resuming = false;
        ctx.channel().config().setAutoRead(kept.isEmpty() && !paused() && !decoder.waits());
    }

    /** Whether no request is being read or answered. */
    boolean betweenRequests() {
        return exchange == null;
    }

    /** Whether the body of a request is waited for. */
    boolean awaitsBody() {
        return exchange != null && !bodyEnded && !exchange.paused();
    }

    /** The client took too long: it is answered where it has sent a part of a request without an answer; it is closed. */
    void timedOut(ChannelHandlerContext ctx, TimeoutRule rule) {
        keepAlive = false;
        RestExchange current = exchange;
        if (current == null && rule == TimeoutRule.REQUEST_HEADERS) {
            current = exchange(ctx, HeaderFields.NONE);
            exchange = current;
        }
        bodyEnded = true;
        if (current == null || current.answered()) {
            ctx.close();
        } else {
            current.timedOut(rule);
        }
    }

    private boolean paused() {
        return exchange != null && !bodyEnded && exchange.paused();
    }

    private void take(ChannelHandlerContext ctx, HttpObject message) {
        turn.took();
        if (message instanceof HttpRequest request && exchange == null) {
            begin(ctx, request);
        } else if (message instanceof HttpContent content) {
            body(ctx, content);
        } else {
            ReferenceCountUtil.release(message);
        }
    }

    private void begin(ChannelHandlerContext ctx, HttpRequest request) {
        OipException refusal = Http1Rules.refusal(request);
        // What is malformed is not read any further.
        Http1Head head = refusal == null ? new Http1Head(request) : null;
        RestExchange started = exchange(ctx, head == null ? HeaderFields.NONE : head);
        exchange = started;
        bodyEnded = false;
        discarded = 0;
        http10 = request.protocolVersion().equals(HttpVersion.HTTP_1_0);
        keepAlive = HttpUtil.isKeepAlive(request) && refusal == null;
        if (head != null) {
            open(ctx, started, request, head);
        } else {
            bodyEnded = true;
            started.reject(Objects.requireNonNull(refusal));
        }
    }

    private RestExchange exchange(ChannelHandlerContext ctx, HeaderFields head) {
        return new RestExchange(
                new Http1ResponseWriter(ctx),
                entry.settings().get(),
                entry.context(ClientProtocol.REST, head, ctx.channel()),
                entry.calls());
    }

    private void open(ChannelHandlerContext ctx, RestExchange started, HttpRequest request, RequestHead head) {
        long length = head.contentLength();
        boolean persistent = keepAlive;
        boolean waits = HttpUtil.is100ContinueExpected(request);
        // A client that has its answer keeps its body back: there is nothing to discard, and no telling where the next
        // request would begin if it sent the body all the same.
        keepAlive = persistent && !waits;
        started.open(head, ctx.channel());
        if (!started.answered() && landing.worth(head, length) && started.inOnePiece()) {
            landing.begin(length);
        } else {
            landing.end();
        }
        if (waits && !started.answered()) {
            keepAlive = persistent;
            ctx.writeAndFlush(new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
        }
    }

    private void body(ChannelHandlerContext ctx, HttpContent content) {
        RestExchange current = exchange;
        if (current == null || content.decoderResult().isFailure()) {
            Throwable cause = content.decoderResult().cause();
            content.release();
            keepAlive = false;
            bodyEnded = true;
            if (current != null && !current.answered()) {
                current.cancelWith(Http1Rules.malformedBody(cause));
            } else {
                leave(ctx, ctx.writeAndFlush(Unpooled.EMPTY_BUFFER));
            }
            return;
        }
        if (current.answered()) {
            discarded += content.content().readableBytes();
            landing.end();
        }
        turn.tookBytes(content.content().readableBytes());
        boolean last = content instanceof LastHttpContent;
        current.data(landing.place(content.content(), ctx.alloc()));
        if (!current.inOnePiece()) {
            // What goes on as it comes needs no memory for the rest.
            landing.end();
        }
        if (last) {
            bodyEnded = true;
            current.end();
        } else if (current.answered()
                && discarded > entry.settings().get().bodies().maxBytes()) {
            leave(ctx, ctx.writeAndFlush(Unpooled.EMPTY_BUFFER));
        }
    }

    /** Closes when the answer has gone out, so that a client that still sends gets it. */
    private void leave(ChannelHandlerContext ctx, ChannelFuture written) {
        leaving = true;
        dropKept();
        ctx.channel().config().setAutoRead(true);
        written.addListener(LingeringClose.INSTANCE);
    }

    private void dropKept() {
        kept.forEach(ReferenceCountUtil::release);
        kept.clear();
        landing.end();
    }

    /** Writes the responses of one request. */
    private final class Http1ResponseWriter implements ResponseWriter {
        private final ChannelHandlerContext ctx;

        Http1ResponseWriter(ChannelHandlerContext ctx) {
            this.ctx = ctx;
        }

        @Override
        public void respond(RestResponse response) {
            FullHttpResponse full = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1,
                    HttpResponseStatus.valueOf(response.status()),
                    response.body(),
                    new DefaultHttpHeaders(),
                    EmptyHttpHeaders.INSTANCE);
            full.headers()
                    .setInt(HttpHeaderNames.CONTENT_LENGTH, response.body().readableBytes());
            head(full, response);
            finished(ctx.writeAndFlush(full));
        }

        private void head(HttpResponse head, RestResponse response) {
            response.headers().forEach(head.headers()::set);
            if (!keepAlive) {
                head.headers().set(HttpHeaderNames.CONNECTION, "close");
            }
        }

        private void finished(ChannelFuture written) {
            RestExchange over = exchange;
            if (over != null && written.isDone()) {
                over.written();
            } else if (over != null) {
                written.addListener(done -> over.written());
            }
            if (!keepAlive) {
                leave(ctx, written);
                return;
            }
            written.addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
            pump(ctx);
        }

        @Override
        public void begin(RestResponse head) {
            HttpResponse begun =
                    new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(head.status()));
            boolean length = head.headers().containsKey(CONTENT_LENGTH);
            if (http10 && !length) {
                keepAlive = false;
            } else if (!length) {
                begun.headers().set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            }
            head(begun, head);
            ctx.write(begun, ctx.voidPromise());
        }

        @Override
        public void part(ByteBuf part) {
            ctx.writeAndFlush(new DefaultHttpContent(part), ctx.voidPromise());
        }

        @Override
        public void endBody() {
            finished(ctx.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT));
        }

        @Override
        public boolean abortable() {
            return !http10;
        }

        @Override
        public void abort() {
            keepAlive = false;
            ctx.close();
        }

        @Override
        public long queued() {
            ChannelOutboundBuffer waiting = ctx.channel().unsafe().outboundBuffer();
            return waiting == null ? 0 : waiting.totalPendingWriteBytes();
        }

        @Override
        public boolean isWritable() {
            return ctx.channel().isWritable();
        }

        @Override
        public void resumeRequest() {
            pump(ctx);
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (ctx.channel().isWritable()) {
            if (exchange != null) {
                exchange.writabilityChanged();
            }
            pump(ctx);
        }
        ctx.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (exchange != null) {
            exchange.cancel();
            exchange = null;
        }
        dropKept();
        ctx.fireChannelInactive();
    }

    /** No room in the heap ends the process; outside of it, others give back what they have. */
    private static OipException failure(Throwable cause) {
        return cause instanceof OutOfMemoryError
                ? new OipException(ErrorCode.OVERLOADED, "out of memory for the request", cause)
                : new OipException(ErrorCode.INTERNAL, "internal error", cause);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof IOException) {
            LOG.debug("connection of a client", cause);
        } else {
            LOG.error("HTTP/1.1 connection", cause);
        }
        if (exchange != null && !exchange.answered()) {
            keepAlive = false;
            exchange.cancelWith(failure(cause));
        } else {
            ctx.close();
        }
    }
}
