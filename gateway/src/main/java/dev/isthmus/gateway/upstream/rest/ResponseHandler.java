package dev.isthmus.gateway.upstream.rest;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpObject;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/** Gives a connection's response to the exchange that uses it. A connection that says anything between exchanges is closed. */
final class ResponseHandler extends ChannelInboundHandlerAdapter {
    private @Nullable HttpExchange exchange;

    void use(@Nullable HttpExchange next) {
        exchange = next;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        HttpExchange current = exchange;
        if (current == null) {
            ReferenceCountUtil.release(message);
            ctx.close();
        } else {
            current.received((HttpObject) message);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        HttpExchange current = exchange;
        exchange = null;
        if (current != null) {
            current.connectionClosed(null);
        }
        ctx.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        HttpExchange current = exchange;
        exchange = null;
        if (current != null) {
            current.connectionClosed(cause);
        }
        ctx.close();
    }
}
