package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http1.HeadWriter;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A request that can be written more than once. Owns one reference to its body until {@link #release()}. */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection, which is handled
final class RestRequestSpec {
    /** Above the kernel's limit of 1,024 buffers per write Netty copies them into one. */
    private static final int MAX_BUFFERS_PER_WRITE = 512;

    private static final String GET = "GET";
    private static final String JSON = "application/json";
    private static final String CONTENT_TYPE = "content-type";
    private static final String JSON_LENGTH = HeaderAllowList.JSON_LENGTH.toString();
    private static final String TIMEOUT = HeaderAllowList.TIMEOUT.toString();

    /** Hop-by-hop headers, and headers that would let the server answer in an unsupported format. */
    private static final Set<String> NOT_FORWARDED = Set.of(
            "connection",
            "transfer-encoding",
            "content-length",
            CONTENT_TYPE,
            "content-encoding",
            "accept",
            "accept-encoding",
            "expect",
            "host",
            "te",
            "upgrade",
            JSON_LENGTH);

    private final HeadWriter head;
    private final boolean safe;
    private final ByteBuf body;
    private @Nullable String timeout;
    /** Whether the head is complete. */
    private boolean addressed;

    private boolean released;

    private RestRequestSpec(String method, String path, Call call, ByteBuf body) {
        this.head = HeadWriter.request(method, path);
        this.safe = method.equals(GET);
        this.body = body;
        try {
            call.headers().forEach(this::forward);
            AsciiString id = call.context().sentId();
            if (id != null) {
                head.field(HeaderAllowList.REQUEST_ID, id.toString());
            }
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "a header cannot be forwarded", e);
        }
    }

    private void forward(String field, String value) {
        String name = field.toLowerCase(Locale.ROOT);
        if (name.equals(TIMEOUT)) {
            timeout = value;
        } else if (!NOT_FORWARDED.contains(name)) {
            head.field(name, value);
        }
    }

    /**
     * A request without a body.
     *
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec get(String path, Call call) {
        RestRequestSpec request = new RestRequestSpec(GET, path, call, Unpooled.EMPTY_BUFFER);
        request.head.field("accept", JSON);
        return request;
    }

    /**
     * An inference request.
     *
     * @param body taken, unless this throws
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec infer(String path, Call call, RestBody body) {
        RestRequestSpec request = post(path, call, body.content(), body.binary() ? "application/octet-stream" : JSON);
        if (body.binary()) {
            request.head.field(JSON_LENGTH, Long.toString(body.jsonLength()));
        }
        return request;
    }

    /**
     * A request with a JSON document.
     *
     * @param body taken, unless this throws
     * @throws OipException if a header cannot be sent
     */
    static RestRequestSpec json(String path, Call call, ByteBuf body) {
        return post(path, call, body, JSON);
    }

    private static RestRequestSpec post(String path, Call call, ByteBuf body, String type) {
        RestRequestSpec request = new RestRequestSpec("POST", path, call, body);
        request.head.contentLength(body.readableBytes()).field(CONTENT_TYPE, type);
        return request;
    }

    /** Whether the request's method is safe (RFC 9110, section 9.2.1). */
    boolean safe() {
        return safe;
    }

    /** Adds the timeout header. */
    RestRequestSpec withTimeout(long nanos) {
        timeout = Long.toString(Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
        return this;
    }

    /**
     * Writes and flushes the request, a small one after the event loop has read all sockets that had something: a server
     * that waits for several is woken once. The caller handles the result.
     */
    ChannelFuture write(Channel channel, String authority) {
        if (!addressed) {
            addressed = true;
            head.field("host", authority);
            if (timeout != null) {
                head.field(TIMEOUT, timeout);
            }
        }
        boolean copied = HeadWriter.copies(body.readableBytes());
        ByteBuf first;
        try {
            first = copied ? head.end(channel.alloc(), body) : head.end(channel.alloc());
        } catch (OutOfMemoryError e) {
            // Out of direct memory: a failed write closes the connection.
            return channel.newFailedFuture(e);
        }
        if (copied) {
            ChannelFuture written = channel.write(first);
            channel.eventLoop().execute(channel::flush);
            return written;
        }
        channel.write(first).addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        return body.nioBufferCount() > MAX_BUFFERS_PER_WRITE
                ? writeBody(channel)
                : channel.writeAndFlush(body.retainedSlice());
    }

    /** Writes the body in groups of buffers: Netty would copy a larger group, which may fail for lack of memory. */
    private ChannelFuture writeBody(Channel channel) {
        ByteBuffer[] pieces = body.nioBuffers();
        for (int from = 0; from < pieces.length; from += MAX_BUFFERS_PER_WRITE) {
            int to = Math.min(from + MAX_BUFFERS_PER_WRITE, pieces.length);
            ByteBuf group = Unpooled.wrappedBuffer(MAX_BUFFERS_PER_WRITE, Arrays.copyOfRange(pieces, from, to));
            body.retain();
            channel.write(group)
                    .addListener(future -> body.release())
                    // Otherwise the server would wait for the missing part until its timeout.
                    .addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        }
        return channel.writeAndFlush(Unpooled.EMPTY_BUFFER);
    }

    /** Releases the body; writes in progress hold their own references. Idempotent. */
    void release() {
        if (!released) {
            released = true;
            body.release();
        }
    }
}
