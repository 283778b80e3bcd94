package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http1.HeadWriter;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.upstream.UpstreamSettings;
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
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A request that can be written more than once. Owns its buffers until {@link #release()}. */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection, which is handled
final class RestRequestSpec {
    /** Above the kernel's limit of 1,024 buffers per write Netty copies them into one. */
    private static final int MAX_BUFFERS_PER_WRITE = 512;

    private static final String JSON = "application/json";
    private static final String CONTENT_TYPE = "content-type";
    private static final String JSON_LENGTH = HeaderAllowList.JSON_LENGTH.toString();
    private static final String TIMEOUT = HeaderAllowList.TIMEOUT.toString();

    /** Hop-by-hop headers, and headers that would let the server answer in an unsupported format. */
    private static final Set<String> NOT_FORWARDED = Set.of(("connection transfer-encoding content-length content-type"
                    + " content-encoding accept accept-encoding expect host te upgrade " + JSON_LENGTH + ' ' + TIMEOUT)
            .split(" "));

    private final RestConnectionPool pool;
    private final boolean safe;
    /** With the body, if that is small. */
    private final ByteBuf head;
    /** Empty if the head has it. */
    private final ByteBuf body;

    private boolean released;

    /**
     * A request.
     *
     * @param type of the body; null for a request without one
     * @param body taken, unless this throws
     * @throws OipException if a header cannot be sent, or for lack of memory
     */
    private RestRequestSpec(
            RestConnectionPool pool, String path, Call call, @Nullable String type, ByteBuf body, long jsonLength) {
        this.pool = pool;
        this.safe = type == null;
        boolean copied = HeadWriter.copies(body.readableBytes());
        try {
            CommonFields common = pool.common();
            HeadWriter fields =
                    HeadWriter.request(safe ? "GET" : "POST", common.path(path)).fields(common.encoded);
            call.headers().forEach((key, value) -> {
                String name = key.toLowerCase(Locale.ROOT);
                if (!NOT_FORWARDED.contains(name) && !common.hasOwn(name)) {
                    fields.field(name, value);
                }
            });
            AsciiString id = call.context().sentId();
            if (id != null) {
                fields.field(HeaderAllowList.REQUEST_ID, id);
            }
            if (call.hasDeadline()) {
                long millis = TimeUnit.NANOSECONDS.toMillis(pool.settings().nanosLeft(call));
                fields.field(TIMEOUT, Long.toString(Math.max(1, millis)));
            }
            if (type == null) {
                fields.field("accept", JSON);
            } else {
                fields.contentLength(body.readableBytes()).field(CONTENT_TYPE, type);
            }
            if (jsonLength != RestBody.ALL_JSON) {
                fields.field(JSON_LENGTH, Long.toString(jsonLength));
            }
            // A health check may be under way when the event loops end.
            this.head = safe ? fields.end() : fields.end(call.allocator(), copied ? body : Unpooled.EMPTY_BUFFER);
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, String.valueOf(e.getMessage()), e);
        } catch (OutOfMemoryError e) {
            throw OipException.outOfMemory(e);
        }
        this.body = copied ? Unpooled.EMPTY_BUFFER : body;
        if (copied) {
            body.release();
        }
    }

    /** A request without a body; this throws as the constructor does. */
    static RestRequestSpec get(RestConnectionPool pool, String path, Call call) {
        return new RestRequestSpec(pool, path, call, null, Unpooled.EMPTY_BUFFER, RestBody.ALL_JSON);
    }

    /** An inference request; its body is taken, unless this throws as the constructor does. */
    static RestRequestSpec infer(RestConnectionPool pool, String path, Call call, RestBody body) {
        String type = body.binary() ? "application/octet-stream" : JSON;
        return new RestRequestSpec(pool, path, call, type, body.content(), body.jsonLength());
    }

    /** A request with a JSON document; its body is taken, unless this throws as the constructor does. */
    static RestRequestSpec json(RestConnectionPool pool, String path, Call call, ByteBuf body) {
        return new RestRequestSpec(pool, path, call, JSON, body, RestBody.ALL_JSON);
    }

    RestConnectionPool pool() {
        return pool;
    }

    /** Whether the request's method is safe (RFC 9110, section 9.2.1). */
    boolean safe() {
        return safe;
    }

    /**
     * Writes and flushes the request, a small one after the event loop has read all sockets that had something: a server
     * that waits for several is woken once. The caller handles the result.
     */
    ChannelFuture write(Channel channel) {
        ByteBuf first = head.retainedDuplicate();
        if (!body.isReadable()) {
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

    /** What all requests to a server have in common: the prefix of their paths, and fields. */
    static final class CommonFields {
        private final String prefix;
        /** As they are sent. */
        private final byte[] encoded;
        /** The names of the gateway's own headers, {@linkplain HeaderAllowList#asRead as servers may read them}. */
        private final Set<String> own;

        /** @param own the gateway's own headers by lower-case name */
        CommonFields(UpstreamSettings settings, Map<String, SecretText> own) {
            HeadWriter fields = HeadWriter.of(new byte[0]).field("host", settings.authority());
            own.forEach((name, value) -> fields.field(name, value.value()));
            this.prefix = settings.pathPrefix();
            this.encoded = fields.fields();
            this.own = own.keySet().stream().map(HeaderAllowList::asRead).collect(Collectors.toUnmodifiableSet());
        }

        private String path(String path) {
            return prefix.isEmpty() ? path : prefix + path;
        }

        /** Whether a server may take a client's header for one of the gateway's own. */
        private boolean hasOwn(String name) {
            return !own.isEmpty() && own.contains(HeaderAllowList.asRead(name));
        }
    }

    /** Releases it; writes in progress hold their own references. Idempotent. */
    void release() {
        if (!released) {
            released = true;
            head.release();
            body.release();
        }
    }
}
