package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request to an upstream and its response, on the call's event loop. A kept connection that the server has closed
 * meanwhile, before a byte of the response, costs one more try on a new connection: the server has not answered it, and
 * closing idle connections is its right.
 */
final class HttpExchange implements Cancellation {
    private final UpstreamSettings settings;
    private final ConnectionPool pool;
    private final FullHttpRequest request;
    private final Reply reply;
    private final Function<RestAnswer, Answer> answer;
    private io.netty.util.concurrent.@Nullable ScheduledFuture<?> timer;
    private @Nullable Channel channel;
    private @Nullable HttpResponse head;
    private @Nullable CompositeByteBuf body;
    private boolean reused;
    private boolean over;

    /** An exchange (the request is taken). */
    HttpExchange(
            UpstreamSettings settings,
            ConnectionPool pool,
            FullHttpRequest request,
            Reply reply,
            Function<RestAnswer, Answer> answer) {
        this.settings = settings;
        this.pool = pool;
        this.request = request;
        this.reply = reply;
        this.answer = answer;
    }

    void start(EventLoop loop, long nanosLeft) {
        timer = loop.schedule(() -> fail(settings.timedOut(new TimeoutException())), nanosLeft, TimeUnit.NANOSECONDS);
        Channel kept = pool.reuse();
        if (kept != null) {
            reused = true;
            send(kept);
        } else {
            connect();
        }
    }

    private void connect() {
        pool.connect().addListener(connected -> {
            Channel opened = ((io.netty.channel.ChannelFuture) connected).channel();
            if (over) {
                opened.close();
            } else if (connected.isSuccess()) {
                send(opened);
            } else {
                fail(settings.unreachable(connected.cause()));
            }
        });
    }

    private void send(Channel to) {
        channel = to;
        to.pipeline().get(ResponseHandler.class).use(this);
        request.headers().set(HttpHeaderNames.HOST, ConnectionPool.host(to));
        // Kept until the exchange is over: it may have to be sent once more.
        to.writeAndFlush(request.retainedDuplicate()).addListener(written -> {
            if (!written.isSuccess() && channel == to) {
                connectionClosed(written.cause());
            }
        });
    }

    void received(HttpObject message) {
        if (message.decoderResult().isFailure()) {
            ReferenceCountUtil.release(message);
            fail(new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "upstream '" + settings.name() + "' answered malformed HTTP",
                    message.decoderResult().cause()));
            return;
        }
        if (message instanceof HttpResponse response) {
            head = response.status().code() < 200 ? null : response;
        }
        if (message instanceof HttpContent content) {
            content(content);
        }
    }

    private void content(HttpContent content) {
        HttpResponse of = head;
        if (of == null) {
            // The end of a 1xx response: the real one follows.
            content.release();
            return;
        }
        CompositeByteBuf gathered = body;
        if (gathered == null) {
            gathered = content.content().alloc().compositeBuffer(Integer.MAX_VALUE);
            body = gathered;
        }
        if (gathered.readableBytes() + content.content().readableBytes() > settings.maxAnswerBytes()) {
            content.release();
            fail(new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "upstream '" + settings.name() + "': an answer of at most " + settings.maxAnswerBytes()
                            + " bytes is taken"));
            return;
        }
        boolean last = content instanceof LastHttpContent;
        gathered.addComponent(true, content.content());
        if (last) {
            finish(of, gathered);
        }
    }

    private void finish(HttpResponse response, CompositeByteBuf gathered) {
        body = null;
        Channel used = channel;
        channel = null;
        if (used != null) {
            used.pipeline().get(ResponseHandler.class).use(null);
            if (HttpUtil.isKeepAlive(response)) {
                pool.giveBack(used);
            } else {
                used.close();
            }
        }
        end();
        RestAnswer complete = new RestAnswer(settings.name(), response, gathered);
        Answer made;
        try {
            made = answer.apply(complete);
        } catch (OipException failure) {
            reply.fail(failure);
            return;
        } finally {
            complete.release();
        }
        reply.only(made);
    }

    void connectionClosed(@Nullable Throwable cause) {
        boolean untouched = head == null && body == null;
        channel = null;
        if (over) {
            return;
        }
        if (reused && untouched) {
            reused = false;
            connect();
            return;
        }
        fail(new OipException(
                ErrorCode.UNAVAILABLE, "upstream '" + settings.name() + "' closed the connection", cause));
    }

    private void fail(OipException failure) {
        if (!over) {
            drop();
            reply.fail(failure);
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            drop();
        }
    }

    /** Ends the exchange before its response is complete: HTTP/1.1 knows no other way than to close the connection. */
    private void drop() {
        end();
        if (body != null) {
            body.release();
            body = null;
        }
        if (channel != null) {
            channel.pipeline().get(ResponseHandler.class).use(null);
            channel.close();
            channel = null;
        }
    }

    private void end() {
        over = true;
        request.release();
        if (timer != null) {
            timer.cancel(false);
        }
    }
}
