package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallHandler;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Headers;

/** One HTTP/2 stream's request and response. */
interface Http2Exchange {

    void open(ChannelHandlerContext ctx, Http2Headers headers, CallHandler calls);

    /**
     * Takes the next part of the request.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk);

    /** Whether the client is to wait before it sends more. */
    default boolean paused() {
        return false;
    }

    /** The client has sent this many bytes, which it may send again only after {@link Http2Responder#consumed}. */
    default void withheld(int bytes) {}

    /** The stream takes more of the response. */
    void becameWritable();

    /** The client has sent everything. */
    void end();

    /** The stream is closed, by whomever; nothing can be written any more. Without effect after the response. */
    void cancel();
}
