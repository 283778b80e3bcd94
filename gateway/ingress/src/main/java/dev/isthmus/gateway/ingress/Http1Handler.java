package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.net.LingeringClose;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 on one connection: one request at a time, in order. Pipelined requests, and requests of a client that does
 * not read its responses, wait undecoded in the {@link PausingDecoder}; meanwhile reading is paused.
 */
final class Http1Handler extends ChannelInboundHandlerAdapter {
    private final ListenerContext listener;
    private final ClientConnection connection;
    private final BodyReadBuffer bodyBuffer;
    private final Turn turn;
    private final PausingDecoder decoder = new PausingDecoder(this::isReady);
    private final DisconnectDetector disconnectDetector = new DisconnectDetector(decoder);
    private final ResponseFlush flush = new ResponseFlush();
    private final Deque<HttpObject> pending = new ArrayDeque<>();
    private @Nullable HttpExchange exchange;
    private boolean bodyEnded;
    private boolean keepAlive;
    private boolean http10;
    private boolean processing;
    private boolean resuming;
    /** The last response has been written; further input is discarded. */
    private boolean closing;

    private long discarded;

    Http1Handler(Channel channel, ListenerContext listener, ClientConnection connection, BodyReadBuffer bodyBuffer) {
        this.listener = listener;
        this.connection = connection;
        this.bodyBuffer = bodyBuffer;
        this.turn = new Turn(channel.eventLoop(), () -> resume(channel));
        decoder.setCumulator(BodyReadBuffer::cumulate);
    }

    /** The decoder, which precedes this handler in the pipeline. */
    PausingDecoder decoder() {
        return decoder;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (closing) {
            ReferenceCountUtil.release(message);
            return;
        }
        flush.reads();
        pending.add((HttpObject) message);
        process(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        flush.readComplete(ctx);
        turn.readComplete();
        disconnectDetector.readComplete(ctx);
        ctx.fireChannelReadComplete();
    }

    private void resume(Channel channel) {
        if (channel.isActive()) {
            process(channel.pipeline().context(this));
        }
    }

    /** Processes pending messages until it must wait for a response. */
    private void process(ChannelHandlerContext ctx) {
        if (processing) {
            return;
        }
        processing = true;
        flush.begin();
        try {
            processPending(ctx);
            processing = false;
            resumeReading(ctx);
        } finally {
            flush.end(ctx);
        }
    }

    private void processPending(ChannelHandlerContext ctx) {
        while (ctx.channel().isActive()) {
            if (exchange != null && exchange.responded() && bodyEnded && keepAlive) {
                exchange = null;
            }
            if (pending.isEmpty() || !canProcess(ctx)) {
                break;
            }
            dispatch(ctx, pending.remove());
        }
    }

    /** Whether the next message can be processed: no request starts while the client does not read its responses. */
    private boolean canProcess(ChannelHandlerContext ctx) {
        return !turn.over() && (exchange == null ? ctx.channel().isWritable() : !bodyEnded);
    }

    /** Whether the decoder may decode another message. */
    boolean isReady(ChannelHandlerContext ctx) {
        return closing || (pending.isEmpty() && canProcess(ctx));
    }

    /** Resumes decoding of buffered bytes first, then reading from the socket. */
    private void resumeReading(ChannelHandlerContext ctx) {
        if (resuming) {
            return;
        }
        resuming = true;
        decoder.resume();
        resuming = false;
        boolean paused = exchange != null && !bodyEnded && exchange.paused();
        ctx.channel().config().setAutoRead(pending.isEmpty() && !paused && !decoder.isPaused());
    }

    /** Whether no request is in flight or waits. */
    boolean betweenRequests() {
        return exchange == null && pending.isEmpty();
    }

    /** Whether more of a request's body is expected now. */
    boolean awaitsBody() {
        return exchange != null && !bodyEnded && !exchange.paused();
    }

    /** Responds to what was received of a request, and closes the connection whether the client reads that or not. */
    void overloaded(ChannelHandlerContext ctx, OipException why) {
        if (exchange == null && decoder.partial()) {
            exchange = exchange(ctx, HeaderFields.NONE);
        }
        shutDown(ctx, why);
        ctx.close();
    }

    /** The client timed out: responds to what was received of a request, and closes the connection. */
    void timedOut(ChannelHandlerContext ctx, TimeoutRule rule) {
        keepAlive = false;
        if (exchange == null && rule == TimeoutRule.REQUEST_HEADERS) {
            exchange = exchange(ctx, HeaderFields.NONE);
        }
        bodyEnded = true;
        if (exchange == null || exchange.responded()) {
            ctx.close();
        } else {
            exchange.timedOut(rule);
        }
    }

    /** Fails the request under way, and closes the connection. */
    void shutDown(ChannelHandlerContext ctx, OipException why) {
        keepAlive = false;
        if (exchange != null && !exchange.responded()) {
            bodyEnded = true;
            exchange.failCall(why);
        } else {
            close(ctx);
        }
    }

    /** Closes the connection after what has been written. */
    void close(ChannelHandlerContext ctx) {
        if (!closing) {
            closeAfter(ctx, ctx.writeAndFlush(Unpooled.EMPTY_BUFFER));
        }
    }

    private void dispatch(ChannelHandlerContext ctx, HttpObject message) {
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
        // Nothing more of a malformed request is read.
        HeaderFields fields = refusal == null ? new Http1Head(request, connection) : HeaderFields.NONE;
        HttpExchange opened = exchange(ctx, fields);
        exchange = opened;
        bodyEnded = refusal != null;
        discarded = 0;
        http10 = request.protocolVersion().equals(HttpVersion.HTTP_1_0);
        keepAlive = HttpUtil.isKeepAlive(request) && refusal == null;
        if (refusal != null) {
            opened.reject(refusal);
        } else if (fields instanceof RequestHead head) {
            open(ctx, opened, request, head);
        }
    }

    private HttpExchange exchange(ChannelHandlerContext ctx, HeaderFields head) {
        return listener.exchange(new Http1ResponseWriter(ctx, listener.cors(head)), head, connection, ctx.channel());
    }

    private void open(ChannelHandlerContext ctx, HttpExchange opened, HttpRequest request, RequestHead head) {
        boolean persistent = keepAlive;
        boolean expectsContinue = HttpUtil.is100ContinueExpected(request);
        // A client that got its response does not send its body: there is nothing to discard, and if it sent the body
        // anyway, the start of the next request could not be found.
        keepAlive = persistent && !expectsContinue;
        opened.open(head, ctx.channel());
        if (!opened.responded() && bodyBuffer.appliesTo(head, head.contentLength()) && opened.inOnePiece()) {
            bodyBuffer.begin(head.contentLength());
        } else {
            bodyBuffer.end();
        }
        if (expectsContinue && !opened.responded()) {
            keepAlive = persistent;
            ctx.writeAndFlush(new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
        }
    }

    private void body(ChannelHandlerContext ctx, HttpContent content) {
        HttpExchange current = exchange;
        if (current == null || content.decoderResult().isFailure()) {
            content.release();
            shutDown(ctx, Http1Rules.malformedBody(content.decoderResult().cause()));
            return;
        }
        if (current.responded()) {
            discarded += content.content().readableBytes();
            bodyBuffer.end();
        }
        turn.tookBytes(content.content().readableBytes());
        current.data(bodyBuffer.place(content.content(), ctx.alloc()));
        if (!current.inOnePiece()) {
            // A body that is forwarded as it arrives needs no memory for the rest.
            bodyBuffer.end();
        }
        if (content instanceof LastHttpContent) {
            bodyEnded = true;
            current.end();
        } else if (current.responded()
                && discarded > listener.settings().get().bodies().maxBytes()) {
            closeAfter(ctx, ctx.writeAndFlush(Unpooled.EMPTY_BUFFER));
        }
    }

    /**
     * Closes once the response has been sent. Input is read and discarded until then, so that a client that is still
     * sending receives it.
     */
    private void closeAfter(ChannelHandlerContext ctx, ChannelFuture written) {
        closing = true;
        dropPending();
        ctx.channel().config().setAutoRead(true);
        written.addListener(LingeringClose.INSTANCE);
    }

    private void dropPending() {
        pending.forEach(ReferenceCountUtil::release);
        pending.clear();
        bodyBuffer.end();
    }

    /** Writes the responses of one request. */
    private final class Http1ResponseWriter implements ResponseWriter {
        private final ChannelHandlerContext ctx;
        private final Map<String, String> cors;
        /** Bytes of earlier responses that are flushed together with this one. */
        private long earlier;

        Http1ResponseWriter(ChannelHandlerContext ctx, Map<String, String> cors) {
            this.ctx = ctx;
            this.cors = cors;
        }

        @Override
        public void respond(RestResponse response) {
            keepAlive &= !listener.connections().drain().draining();
            earlier = flush.isDeferred() ? ResponseFlush.pendingBytes(ctx) : 0;
            ChannelFuture written = ctx.write(Http1Responses.full(response.allowing(cors), keepAlive));
            flush.flush(ctx);
            finished(written);
        }

        private void finished(ChannelFuture written) {
            HttpExchange finished = exchange;
            if (finished != null && written.isDone()) {
                finished.written();
            } else if (finished != null) {
                written.addListener(done -> finished.written());
            }
            if (!keepAlive) {
                closeAfter(ctx, written);
                return;
            }
            written.addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
            process(ctx);
        }

        @Override
        public void begin(RestResponse head) {
            keepAlive &= (!http10 || Http1Responses.hasLength(head))
                    && !listener.connections().drain().draining();
            ctx.write(Http1Responses.head(head.allowing(cors), keepAlive, http10), ctx.voidPromise());
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
            return Math.max(0, ResponseFlush.pendingBytes(ctx) - earlier);
        }

        @Override
        public boolean isWritable() {
            return ctx.channel().isWritable();
        }

        @Override
        public void resumeRequest() {
            process(ctx);
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (ctx.channel().isWritable()) {
            if (exchange != null) {
                exchange.writabilityChanged();
            }
            process(ctx);
        }
        ctx.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (exchange != null) {
            exchange.cancel();
            exchange = null;
        }
        dropPending();
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ConnectionFailureLog.failed(ctx.channel(), cause);
        keepAlive = false;
        if (exchange == null || exchange.responded()) {
            ctx.close();
        } else {
            exchange.failCall(Http1Rules.failure(cause));
        }
    }
}
