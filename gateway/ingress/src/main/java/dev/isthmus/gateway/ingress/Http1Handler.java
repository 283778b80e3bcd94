package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.http1.HeadWriter.ChunkWriter;
import dev.isthmus.gateway.http1.Http1Parser;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.ingress.Http1Responses.Persistence;
import dev.isthmus.gateway.ingress.Http1Responses.ResponseFlush;
import dev.isthmus.gateway.ingress.RequestHead.Http1Head;
import dev.isthmus.gateway.ingress.TlsNegotiation.ConnectionFailureLog;
import dev.isthmus.gateway.net.BodyProgress;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.ConnectionTimeouts;
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
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1 on one connection: one request at a time, in order. Pipelined requests, and requests of a client that does
 * not read its responses, wait in the {@link RequestReader}; meanwhile the socket is not read.
 */
final class Http1Handler extends ChannelInboundHandlerAdapter implements ConnectionTimer.ProtocolHandler {
    /** Time for another request before an idle connection is closed, and between the checks for that. */
    private static final long IDLE_SECONDS = 1;
    /** Until the event loop has read the sockets once more. */
    private static final long READ_MILLIS = 1;

    private final ListenerContext listener;
    private final ClientConnection connection;
    private final BodyReadBuffer bodyBuffer;
    private final Turn turn;
    private final RequestReader reader = new RequestReader();
    private final ResponseFlush flush = new ResponseFlush();
    private @Nullable HttpExchange exchange;
    private boolean bodyEnded;
    private boolean keepAlive;
    private boolean http10;
    private boolean processing;
    /** The last response has been written; further input is discarded. */
    private boolean closing;

    /** Bytes of a body that are still read after the response to it. */
    private long discardable;

    /** Set when the handler is added. */
    private @Nullable ChannelHandlerContext context;

    private final BodyProgress bodyProgress = new BodyProgress();
    /** What the connection waited for at the last check of its time, and since when. */
    private ClientWait awaited = ClientWait.NOTHING;

    private long messages;
    private long since;

    /** What the connection waits for. */
    private enum ClientWait {
        NOTHING,
        REQUEST,
        REST_OF_HEAD,
        BODY
    }

    Http1Handler(Channel channel, ListenerContext listener, ClientConnection connection, BodyReadBuffer bodyBuffer) {
        this.listener = listener;
        this.connection = connection;
        this.bodyBuffer = bodyBuffer;
        this.turn = new Turn(channel.eventLoop(), () -> resume(channel));
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    private ChannelHandlerContext context() {
        return Objects.requireNonNull(context);
    }

    /** What was received. */
    RequestReader reader() {
        return reader;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf read = (ByteBuf) message;
        if (closing) {
            reader.discard(read);
            return;
        }
        flush.reads();
        reader.add(read, ctx.alloc());
        process(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        flush.readComplete(ctx);
        turn.readComplete();
        reader.readComplete(ctx);
        ctx.fireChannelReadComplete();
    }

    private void resume(Channel channel) {
        if (channel.isActive()) {
            process(channel.pipeline().context(this));
        }
    }

    /** Processes what was received until it must wait for a response. */
    private void process(ChannelHandlerContext ctx) {
        if (processing) {
            return;
        }
        processing = true;
        flush.begin();
        try {
            processReceived(ctx);
            processing = false;
            resumeReading(ctx);
        } catch (RuntimeException | OutOfMemoryError e) {
            // Not the caller's, which may be the response to an earlier request.
            exceptionCaught(ctx, e);
        } finally {
            processing = false;
            flush.end(ctx);
        }
    }

    private void processReceived(ChannelHandlerContext ctx) {
        while (ctx.channel().isActive()) {
            if (exchange != null && exchange.responded() && bodyEnded && keepAlive) {
                exchange = null;
            }
            if (closing || !canProcess(ctx) || !processNext(ctx)) {
                break;
            }
        }
    }

    /** Whether more can be processed: no request starts while the client does not read its responses. */
    private boolean canProcess(ChannelHandlerContext ctx) {
        return !turn.over() && (exchange == null ? ctx.channel().isWritable() : !bodyEnded);
    }

    /** Reads the socket again unless bytes of it wait. */
    private void resumeReading(ChannelHandlerContext ctx) {
        reader.pause(closing || canProcess(ctx));
        boolean paused = exchange != null && !bodyEnded && exchange.paused();
        ctx.channel().config().setAutoRead(!paused && !reader.isPaused());
    }

    @Override
    public void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        ClientWait next = awaited();
        if (next == ClientWait.BODY) {
            if (awaited != ClientWait.BODY) {
                bodyProgress.begin(reader.bytes(), now);
            }
        } else if (next != awaited || reader.messages() != messages) {
            since = now;
        }
        awaited = next;
        messages = reader.messages();
        TimeoutRule rule = passed(now, timeouts);
        if (rule != null) {
            expired.accept(rule);
            timedOut(context(), rule);
        }
    }

    private ClientWait awaited() {
        if (exchange == null) {
            return reader.partial() ? ClientWait.REST_OF_HEAD : ClientWait.REQUEST;
        }
        return !bodyEnded && !exchange.paused() ? ClientWait.BODY : ClientWait.NOTHING;
    }

    private @Nullable TimeoutRule passed(long now, ConnectionTimeouts timeouts) {
        return switch (awaited) {
            case NOTHING -> null;
            case REQUEST -> ConnectionTimeouts.passed(timeouts.idle(), since, now) ? TimeoutRule.IDLE : null;
            case REST_OF_HEAD ->
                ConnectionTimeouts.passed(timeouts.requestHeaders(), since, now) ? TimeoutRule.REQUEST_HEADERS : null;
            case BODY -> bodyProgress.check(reader.bytes(), now, timeouts);
        };
    }

    /** The client timed out: responds to what was received of a request, and closes the connection. */
    private void timedOut(ChannelHandlerContext ctx, TimeoutRule rule) {
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

    @Override
    public long incompleteBytes() {
        return reader.held();
    }

    @Override
    public long rememberedBytes() {
        return 0;
    }

    @Override
    public long progress() {
        return reader.messages();
    }

    @Override
    public boolean serving() {
        return awaited() == ClientWait.NOTHING;
    }

    @Override
    public ConnectionUse use(long now) {
        boolean idle = exchange == null;
        // The last check may have been before the last request.
        boolean measured = idle && awaited == ClientWait.REQUEST && reader.messages() == messages;
        return new ConnectionUse(
                "HTTP/1.1", idle ? 0 : 1, measured ? Duration.ofNanos(Math.max(0, now - since)) : Duration.ZERO);
    }

    /** Responds to what was received of a request, and closes the connection whether the client reads that or not. */
    @Override
    public void overloaded(OipException why) {
        if (exchange == null && reader.partial()) {
            exchange = exchange(context(), HeaderFields.NONE);
        }
        shutDown(why);
        context().close();
    }

    @Override
    public void drain() {
        context().executor().schedule(() -> closeIdle(false), IDLE_SECONDS, TimeUnit.SECONDS);
    }

    /**
     * Closes the connection if it is idle; otherwise a response closes it, or this is tried again. A busy event loop may
     * not have read a request that is there, so it closes what was idle twice, with a read in between.
     */
    private void closeIdle(boolean readAgain) {
        if (exchange != null || reader.partial() || reader.isPaused()) {
            if (context().channel().isActive()) {
                drain();
            }
        } else if (readAgain) {
            close(context());
        } else {
            context().executor().schedule(() -> closeIdle(true), READ_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void shutDown(OipException why) {
        keepAlive = false;
        if (exchange != null && !exchange.responded()) {
            bodyEnded = true;
            exchange.failCall(why);
        } else {
            close(context());
        }
    }

    /** Closes the connection after what has been written. */
    private void close(ChannelHandlerContext ctx) {
        if (!closing) {
            closeAfter(ctx, ctx.writeAndFlush(Unpooled.EMPTY_BUFFER));
        }
    }

    /** Processes the next part of a request; returns whether there was one. */
    private boolean processNext(ChannelHandlerContext ctx) {
        Http1Parser.ParserEvent event;
        try {
            event = reader.next();
        } catch (OipException malformed) {
            malformed(ctx, malformed);
            return true;
        }
        switch (event) {
            case MORE -> {
                return false;
            }
            case FOREIGN -> ctx.close();
            case HEAD -> begin(ctx, reader.request());
            case CONTENT -> body(ctx, reader.content());
            case END -> turn.took();
        }
        if (reader.ended() && exchange != null && !bodyEnded) {
            bodyEnded = true;
            exchange.end();
        }
        return true;
    }

    /** Nothing more of a malformed request is read. */
    private void malformed(ChannelHandlerContext ctx, OipException failure) {
        turn.took();
        if (exchange == null) {
            bodyEnded = true;
            keepAlive = false;
            exchange = exchange(ctx, HeaderFields.NONE);
            exchange.reject(failure);
        } else {
            shutDown(failure);
        }
    }

    private void begin(ChannelHandlerContext ctx, Http1Request request) {
        // Without a body it counts as much as with a small one.
        turn.took(reader.ended() ? 2 : 1);
        Http1Head head = new Http1Head(request, connection);
        OipException refusal = head.refusal();
        if (refusal != null) {
            malformed(ctx, refusal);
            return;
        }
        bodyEnded = false;
        discardable = 2 * listener.settings().get().bodies().maxBytes();
        http10 = request.http10();
        keepAlive = request.persistent();
        open(ctx, head);
    }

    private HttpExchange exchange(ChannelHandlerContext ctx, HeaderFields head) {
        return listener.exchange(new Http1ResponseWriter(ctx, listener.cors(head)), head, connection, ctx.channel());
    }

    private void open(ChannelHandlerContext ctx, Http1Head head) {
        HttpExchange opened = exchange(ctx, head);
        exchange = opened;
        boolean persistent = keepAlive && head.contentLength() <= discardable;
        boolean expectsContinue = head.expectsContinue();
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
            ctx.writeAndFlush(Http1Responses.interim());
        }
    }

    /** @param part taken */
    private void body(ChannelHandlerContext ctx, ByteBuf part) {
        turn.took();
        HttpExchange current = exchange;
        if (current == null || bodyEnded) {
            part.release();
            return;
        }
        turn.tookBytes(part.readableBytes());
        if (current.responded()) {
            discardable -= part.readableBytes();
            bodyBuffer.end();
        }
        current.data(bodyBuffer.place(part, ctx.alloc()));
        if (!current.inOnePiece()) {
            // A body that is forwarded as it arrives needs no memory for the rest.
            bodyBuffer.end();
        }
        if (!reader.ended() && current.responded() && discardable < 0) {
            close(ctx);
        }
    }

    /** Closes once the response has been sent; until then input is discarded, so that a client that sends receives it. */
    private void closeAfter(ChannelHandlerContext ctx, ChannelFuture written) {
        closing = true;
        reader.release();
        bodyBuffer.end();
        ctx.channel().config().setAutoRead(true);
        written.addListener(LingeringClose.INSTANCE);
    }

    /** Writes the responses of one request. */
    private final class Http1ResponseWriter implements ResponseWriter {
        private final ChannelHandlerContext ctx;
        private final Map<String, String> cors;
        /** Bytes of earlier responses that are flushed together with this one. */
        private long earlier;

        private boolean chunked;

        Http1ResponseWriter(ChannelHandlerContext ctx, Map<String, String> cors) {
            this.ctx = ctx;
            this.cors = cors;
        }

        @Override
        public void respond(RestResponse response) {
            keepAlive &= !listener.connections().drain().draining();
            earlier = flush.isDeferred() ? ResponseFlush.pendingBytes(ctx) : 0;
            ChannelFuture sent = Http1Responses.write(ctx, response.allowing(cors), Persistence.of(keepAlive, http10));
            flush.flush(ctx);
            finished(sent);
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
            boolean length = Http1Responses.hasLength(head);
            keepAlive &= (!http10 || length) && !listener.connections().drain().draining();
            chunked = !http10 && !length;
            Http1Responses.begin(ctx, head.allowing(cors), Persistence.of(keepAlive, http10), chunked);
        }

        @Override
        public void part(ByteBuf part) {
            Http1Responses.part(ctx, part, chunked);
        }

        @Override
        public void endBody() {
            finished(ctx.writeAndFlush(chunked ? ChunkWriter.last() : Unpooled.EMPTY_BUFFER));
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
        reader.release();
        bodyBuffer.end();
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ConnectionFailureLog.failed(ctx.channel(), cause);
        keepAlive = false;
        if (exchange == null || exchange.responded()) {
            ctx.close();
        } else {
            exchange.failCall(
                    cause instanceof OutOfMemoryError
                            ? OipException.outOfMemory(cause)
                            : new OipException(ErrorCode.INTERNAL, "internal error", cause));
        }
    }
}
