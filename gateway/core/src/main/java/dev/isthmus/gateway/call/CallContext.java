package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is known about one request of a client, from its head to its end. Ingress creates it before anything can be
 * rejected; each layer adds what it learns; metrics, logs and policies read it. Confined to the event loop of the
 * client's connection.
 */
public final class CallContext {
    /** A point in time that has not been reached. */
    public static final long NOT_YET = -1;
    /** The route of calls that name no model. */
    public static final String NO_ROUTE = "none";

    private final @Nullable ClientProtocol protocol;
    private final @Nullable ClientConnection connection;
    private final HeaderFields headers;
    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final MemoryBudget.MemoryReservation memory;
    private final long startNanos;
    private @Nullable CallContext stream;

    private @Nullable Principal principal;
    private @Nullable SocketAddress forwardedFor;
    private AsciiString requestId = AsciiString.EMPTY_STRING;
    private boolean sendsId;
    private TraceSpan span = TraceSpan.NONE;
    private @Nullable Operation operation;
    private String route = NO_ROUTE;
    private String target = "";
    private String upstream = "";
    private @Nullable ModelRef served;
    private String server = "";
    private int attempts;
    private List<String> retries = List.of();
    private long priority;
    private long requestBytes;
    private long responseBytes;
    private long requestNanos = NOT_YET;
    private long responseNanos = NOT_YET;
    private long totalNanos = NOT_YET;
    private @Nullable OipException failure;

    /**
     * The context of a request whose head was received, or which failed before.
     *
     * @param protocol null for a call that the gateway makes itself, as is the client's connection
     * @param headers all header fields that the client sent, for routing and policies
     * @param loop event loop of the client's connection: every callback of the call runs on it
     * @param memory counts the bytes that the call holds
     * @param startNanos on the scale of {@link System#nanoTime()}
     */
    public CallContext(
            @Nullable ClientProtocol protocol,
            @Nullable ClientConnection connection,
            HeaderFields headers,
            EventLoop loop,
            ByteBufAllocator allocator,
            MemoryBudget.MemoryReservation memory,
            long startNanos) {
        this.protocol = protocol;
        this.connection = connection;
        this.headers = headers;
        this.loop = loop;
        this.allocator = allocator;
        this.memory = memory;
        this.startNanos = startNanos;
    }

    /** The context of a call that the gateway makes itself: its bytes are not counted. */
    public static CallContext internal(EventLoop loop, ByteBufAllocator allocator) {
        return new CallContext(
                null, null, HeaderFields.NONE, loop, allocator, MemoryBudget.MemoryReservation.UNCOUNTED, 0);
    }

    /** The context of a message of this stream: it has the same client, ids, memory and span. */
    CallContext ofMessage(long now) {
        CallContext message = new CallContext(protocol, connection, headers, loop, allocator, memory, now);
        message.stream = this;
        message.principal = principal;
        message.forwardedFor = forwardedFor;
        message.identified(requestId, sendsId);
        message.span = span;
        return message;
    }

    /** The client's protocol; null for a call that the gateway makes itself. */
    public @Nullable ClientProtocol protocol() {
        return protocol;
    }

    /** The client's connection; null for a call that the gateway makes itself. */
    public @Nullable ClientConnection connection() {
        return connection;
    }

    /** The request was forwarded by a trusted proxy, for the client with this address. */
    public void forwardedFor(SocketAddress client) {
        forwardedFor = client;
    }

    /** The client's address: what a trusted proxy says, else that of the connection; null if it is not known. */
    public @Nullable SocketAddress peer() {
        return forwardedFor != null || connection == null ? forwardedFor : connection.peer();
    }

    /** {@link #peer()} as {@code ADDRESS:PORT}; null if it is not known. */
    public @Nullable String peerText() {
        return forwardedFor != null
                ? ClientConnection.text(forwardedFor)
                : connection == null ? null : connection.peerText();
    }

    /** All header fields that the client sent. */
    public HeaderFields headers() {
        return headers;
    }

    /** The event loop of the client's connection. */
    public EventLoop loop() {
        return loop;
    }

    /** Allocates the buffers of the call. */
    public ByteBufAllocator allocator() {
        return allocator;
    }

    /** Counts the bytes that the call holds. */
    public MemoryBudget.MemoryReservation memory() {
        return memory;
    }

    /** The caller was identified, or need not be. */
    public void authenticated(Principal caller) {
        principal = caller;
    }

    /** Whether it is known who the caller is, or that it need not be. */
    public boolean isAuthenticated() {
        return principal != null;
    }

    /** The caller; {@link Principal#ANONYMOUS} if it is not identified. */
    public Principal principal() {
        return principal == null ? Principal.ANONYMOUS : principal;
    }

    /** The name of the listener; empty for a call that the gateway makes itself. */
    public String listener() {
        return connection == null ? "" : connection.listener();
    }

    /**
     * The id of the request was read or made.
     *
     * @param sent whether servers get it in addition to the headers that are forwarded
     */
    public void identified(AsciiString id, boolean sent) {
        requestId = id;
        sendsId = sent;
    }

    /** The request id to send to a server in addition to the headers that are forwarded; null for none. */
    public @Nullable AsciiString sentId() {
        return sendsId ? requestId : null;
    }

    /** The request id, of the client or made by the gateway; empty for a call that the gateway makes itself. */
    public String requestId() {
        return requestId.toString();
    }

    /** The call is traced, sampled or not. */
    public void traced(TraceSpan own) {
        span = own;
    }

    public TraceSpan span() {
        return span;
    }

    /** The id of the trace that the call belongs to, as traced or as the client says; null if it belongs to none. */
    public @Nullable String traceId() {
        if (span != TraceSpan.NONE) {
            return span.traceId();
        }
        TraceContext client = TraceContext.parse(headers.value(TraceContext.HEADER));
        return client == null ? null : client.traceId();
    }

    /** When the head of the request was received, on the scale of {@link System#nanoTime()}. */
    public long startNanos() {
        return startNanos;
    }

    /** The call has begun. */
    public void began(Operation requested) {
        operation = requested;
    }

    /** The requested operation; null if the request was rejected before it was known. */
    public @Nullable Operation operation() {
        return operation;
    }

    /** The route was looked up. */
    public void routed(String key) {
        route = key;
    }

    /**
     * The key of the route: a configured name or pattern, or that of all unconfigured models; else {@link #NO_ROUTE}.
     */
    public String route() {
        return route;
    }

    /**
     * A target was chosen. With a fallback there may be several, and a stream has those of its messages: the last one
     * counts.
     *
     * @param name of the target on its route
     */
    public void sentTo(String name, String chosen, ModelRef model) {
        target = name;
        upstream = chosen;
        served = model;
        if (stream != null) {
            stream.sentTo(name, chosen, model);
        }
    }

    /** The name of the target that the call was sent to, as routing calls it; empty if it was sent to none. */
    public String target() {
        return target;
    }

    /** The upstream that the call was sent to; empty if it was sent to none. */
    public String upstream() {
        return upstream;
    }

    /** The model as the upstream knows it; null if the call was sent to none. */
    public @Nullable ModelRef served() {
        return served;
    }

    /** The priority that the request asks for was read: 1 is the highest, 0 none in particular. */
    public void prioritized(long asked) {
        priority = asked;
    }

    /** The priority that the request asks for, if its upstream reads it: 1 is the highest, 0 none in particular. */
    public long priority() {
        return priority;
    }

    /** The request is sent to a server, as a first attempt or a retry. */
    public void attempted(String address) {
        streamedTo(address);
        if (stream != null) {
            stream.attempted(address);
        }
    }

    /** It is sent over a stream to a server, which is an attempt of the whole call. */
    public void streamedTo(String address) {
        server = address;
        attempts++;
    }

    /** The server that the request was last sent to; empty for none. */
    public String server() {
        return server;
    }

    public int attempts() {
        return attempts;
    }

    /** The request will be retried. */
    public void retried(String why) {
        if (retries.isEmpty()) {
            retries = new ArrayList<>(2);
        }
        retries.add(why);
    }

    /** The reason for each retry, in order. */
    public List<String> retries() {
        return retries;
    }

    /** Bytes of the request's body were received; counted after decompression. */
    public void received(int bytes) {
        requestBytes += bytes;
    }

    /** Size of the request's body received so far, in bytes after decompression. */
    public long requestBytes() {
        return requestBytes;
    }

    /** Bytes of the response's body are written; counted before compression. */
    public void responseSent(int bytes) {
        responseBytes += bytes;
    }

    /** Size of the response's body written so far, in bytes before compression. */
    public long responseBytes() {
        return responseBytes;
    }

    public void requestComplete(long now) {
        requestNanos = Math.max(0, now - startNanos);
    }

    /** Nanoseconds from the head of the request to its end; {@link #NOT_YET} if the request has not ended. */
    public long requestNanos() {
        return requestNanos;
    }

    /** The response starts; only the first call has an effect. */
    public void responseBegan(long now) {
        if (responseNanos < 0) {
            responseNanos = Math.max(0, now - startNanos);
        }
    }

    /** Whether the response has started. */
    public boolean responding() {
        return responseNanos >= 0;
    }

    /**
     * Nanoseconds from the end of the request to the response or error; {@link #NOT_YET} if it began first, or not.
     */
    public long upstreamNanos() {
        return requestNanos < 0 || responseNanos < requestNanos ? NOT_YET : responseNanos - requestNanos;
    }

    /** Nanoseconds from the start of the response to the end of the call; {@link #NOT_YET} if either is missing. */
    public long responseWriteNanos() {
        return responseNanos < 0 || totalNanos < 0 ? NOT_YET : totalNanos - responseNanos;
    }

    /** Nanoseconds from the head of the request to the end of the call; {@link #NOT_YET} until then. */
    public long totalNanos() {
        return totalNanos;
    }

    /** Records why the call fails, before it ends. Only the first failure counts. */
    public void failed(OipException first) {
        failure = failure == null ? first : failure;
    }

    /** The client cancelled the call. No effect if the call has already failed. */
    public void cancelled() {
        failed(new OipException(ErrorCode.CANCELLED, "the client cancelled the call"));
    }

    /** The error code of the call; null if it has not failed. */
    public @Nullable ErrorCode code() {
        return failure == null ? null : failure.code();
    }

    /** Why the call failed, as one of a fixed set; null if it has not. */
    public @Nullable FailureCause cause() {
        return failure == null ? null : failure.failureCause();
    }

    /** Why the call failed, possibly in words that clients must not see; empty if it has not failed. */
    public String reason() {
        return failure == null ? "" : failure.message();
    }

    /** Marks the call as ended; returns false if it had already ended. */
    public boolean ended(long now) {
        if (totalNanos >= 0) {
            return false;
        }
        totalNanos = Math.max(0, now - startNanos);
        return true;
    }
}
