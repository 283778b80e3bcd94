package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A request that can be written more than once. Owns one reference to its body until {@link #release()}. */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection, which is handled
final class RestRequestSpec {
    /** Above the kernel's limit of 1,024 buffers per write Netty copies them into one. */
    private static final int MAX_BUFFERS_PER_WRITE = 512;

    /** Hop-by-hop headers, and headers that would let the server answer in an unsupported format. */
    private static final List<CharSequence> NOT_FORWARDED = List.of(
            HttpHeaderNames.CONNECTION,
            HttpHeaderNames.TRANSFER_ENCODING,
            HttpHeaderNames.CONTENT_LENGTH,
            HttpHeaderNames.CONTENT_TYPE,
            HttpHeaderNames.CONTENT_ENCODING,
            HttpHeaderNames.ACCEPT,
            HttpHeaderNames.ACCEPT_ENCODING,
            HttpHeaderNames.EXPECT,
            HttpHeaderNames.HOST,
            HttpHeaderNames.TE,
            HttpHeaderNames.UPGRADE,
            HeaderAllowList.JSON_LENGTH);

    /** Headers created here need no validation. */
    private static final HttpHeadersFactory TRUSTED =
            DefaultHttpHeadersFactory.headersFactory().withValidation(false);

    private final HttpMethod method;
    private final String path;
    private final HttpHeaders headers;
    private final ByteBuf body;
    private boolean released;

    private RestRequestSpec(HttpMethod method, String path, HttpHeaders headers, ByteBuf body) {
        this.method = method;
        this.path = path;
        this.headers = headers;
        this.body = body;
    }

    /**
     * A request without a body.
     *
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec get(String path, Map<String, String> forwarded) {
        HttpHeaders headers = headers(forwarded).set(HttpHeaderNames.ACCEPT, "application/json");
        return new RestRequestSpec(HttpMethod.GET, path, headers, Unpooled.EMPTY_BUFFER);
    }

    /**
     * An inference request.
     *
     * @param body taken, unless this throws
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec infer(String path, Map<String, String> forwarded, RestBody body) {
        HttpHeaders headers = headers(forwarded)
                .set(HttpHeaderNames.CONTENT_LENGTH, body.content().readableBytes())
                .set(HttpHeaderNames.CONTENT_TYPE, body.binary() ? "application/octet-stream" : "application/json");
        if (body.binary()) {
            headers.set(HeaderAllowList.JSON_LENGTH, body.jsonLength());
        }
        return new RestRequestSpec(HttpMethod.POST, path, headers, body.content());
    }

    /**
     * A request with a JSON document.
     *
     * @param body taken, unless this throws
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec json(String path, Map<String, String> forwarded, ByteBuf body) {
        HttpHeaders headers = headers(forwarded)
                .set(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes())
                .set(HttpHeaderNames.CONTENT_TYPE, "application/json");
        return new RestRequestSpec(HttpMethod.POST, path, headers, body);
    }

    /** Whether the request's method is safe (RFC 9110, section 9.2.1). */
    boolean safe() {
        return method.equals(HttpMethod.GET);
    }

    /** Adds the timeout header. */
    RestRequestSpec withTimeout(long nanos) {
        headers.set(HeaderAllowList.TIMEOUT, Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
        return this;
    }

    private static HttpHeaders headers(Map<String, String> forwarded) {
        if (forwarded.isEmpty()) {
            return TRUSTED.newHeaders();
        }
        HttpHeaders headers = new DefaultHttpHeaders();
        try {
            forwarded.forEach(headers::set);
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "a header cannot be forwarded", e);
        }
        NOT_FORWARDED.forEach(headers::remove);
        return headers;
    }

    /** Writes and flushes the request; the caller handles the result. */
    ChannelFuture write(Channel channel, String authority) {
        headers.set(HttpHeaderNames.HOST, authority);
        if (body.nioBufferCount() > MAX_BUFFERS_PER_WRITE) {
            channel.write(new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, path, headers))
                    .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
            writeBody(channel);
            return channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
        }
        return channel.writeAndFlush(new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1, method, path, body.retainedSlice(), headers, EmptyHttpHeaders.INSTANCE));
    }

    /** Writes the body in groups of buffers: Netty would copy a larger group, which may fail for lack of memory. */
    private void writeBody(Channel channel) {
        ByteBuffer[] pieces = body.nioBuffers();
        for (int from = 0; from < pieces.length; from += MAX_BUFFERS_PER_WRITE) {
            int to = Math.min(from + MAX_BUFFERS_PER_WRITE, pieces.length);
            ByteBuf group = Unpooled.wrappedBuffer(MAX_BUFFERS_PER_WRITE, Arrays.copyOfRange(pieces, from, to));
            body.retain();
            channel.write(new DefaultHttpContent(group))
                    .addListener(future -> body.release())
                    // Otherwise the server would wait for the missing part until its timeout.
                    .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        }
    }

    /** Releases the body; writes in progress hold their own references. Idempotent. */
    void release() {
        if (!released) {
            released = true;
            body.release();
        }
    }
}
