package dev.isthmus.bench.faults;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Sequential requests on one connection. */
final class RestClientExchange extends SimpleChannelInboundHandler<HttpObject> {
    private static final int MAX_KEPT = 64 * 1024;

    private final Reusable idle;
    private final StringBuilder body = new StringBuilder();
    private Request request = new Request(-1, Request.MODEL);
    private @Nullable PendingRequest pending;
    private @Nullable HttpResponse head;
    private long sentNanos;

    /** Receives a connection whenever it can send another request, with the time when it sent the last one. */
    interface Reusable {
        void accept(Channel channel, long sentNanos);
    }

    RestClientExchange(Reusable idle) {
        this.idle = idle;
    }

    /** The next response belongs to this request. */
    void expect(Request asked, PendingRequest asking) {
        request = asked;
        pending = asking;
        sentNanos = System.nanoTime();
        head = null;
        body.setLength(0);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
        if (part instanceof HttpResponse response) {
            head = response;
        }
        if (part.decoderResult().isFailure()) {
            context.close();
            return;
        }
        if (part instanceof HttpContent content && body.length() < MAX_KEPT) {
            body.append(content.content().toString(StandardCharsets.UTF_8));
        }
        if (part instanceof LastHttpContent && head != null && pending != null) {
            finish(context.channel(), head, pending);
        }
    }

    private void finish(Channel channel, HttpResponse response, PendingRequest ending) {
        pending = null;
        if (HttpUtil.isKeepAlive(response) && !ending.over()) {
            idle.accept(channel, sentNanos);
        } else {
            channel.close();
        }
        ending.end(outcome(response.status().code(), request, body));
    }

    /** The outcome of a complete response. */
    static Outcome outcome(int status, Request request, CharSequence body) {
        if (status != 200) {
            return Outcome.status(Integer.toString(status));
        }
        return body.toString().contains("\"id\":\"" + request.text() + "\"") ? Outcome.OK : Outcome.TRUNCATED;
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (pending != null) {
            pending.end(head == null ? Outcome.RESET : Outcome.TRUNCATED);
            pending = null;
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
