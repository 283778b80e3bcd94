package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one request of a client, from its head to its end. Ingress makes it before anything is refused; whoever
 * finds something out adds it; metrics, logs and policies read it. Lives on the event loop of the client's connection.
 */
public final class CallContext {
    /** A time that has not come. */
    public static final long NOT_YET = -1;
    /** The route of calls that name no model. */
    public static final String NO_ROUTE = "none";

    private final @Nullable ClientProtocol protocol;
    private final @Nullable SocketAddress peer;
    private final HeaderFields headers;
    private final EventLoop loop;
    private final ByteBufAllocator allocator;
    private final MemoryBudget.MemoryReservation memory;
    private final long startNanos;

    private @Nullable Operation operation;
    private String route = NO_ROUTE;
    private String upstream = "";
    private @Nullable ModelRef served;
    private String server = "";
    private int attempts;
    private List<String> retries = List.of();

    private long requestBytes;
    private long responseBytes;
    private long requestNanos = NOT_YET;
    private long responseNanos = NOT_YET;
    private long totalNanos = NOT_YET;
    private @Nullable ErrorCode code;
    private String reason = "";

    /**
     * Of a request whose head has come, or that failed before.
     *
     * @param protocol null for a call that the gateway makes itself
     * @param peer the client's address; null where it is not known
     * @param headers all that the client sent, for routing and policies to look at
     * @param loop of the client's connection: every callback of the call happens on it
     * @param memory counts the bytes that the call holds
     * @param startNanos on the scale of {@link System#nanoTime()}
     */
    public CallContext(
            @Nullable ClientProtocol protocol,
            @Nullable SocketAddress peer,
            HeaderFields headers,
            EventLoop loop,
            ByteBufAllocator allocator,
            MemoryBudget.MemoryReservation memory,
            long startNanos) {
        this.protocol = protocol;
        this.peer = peer;
        this.headers = headers;
        this.loop = loop;
        this.allocator = allocator;
        this.memory = memory;
        this.startNanos = startNanos;
    }

    /** Of a call that the gateway makes itself: nobody counts its bytes. */
    public static CallContext internal(EventLoop loop, ByteBufAllocator allocator) {
        return new CallContext(
                null, null, HeaderFields.NONE, loop, allocator, MemoryBudget.MemoryReservation.UNCOUNTED, 0);
    }

    /** What the client speaks; null for a call that the gateway makes itself. */
    public @Nullable ClientProtocol protocol() {
        return protocol;
    }

    /** The client's address; null where it is not known. */
    public @Nullable SocketAddress peer() {
        return peer;
    }

    /** All that the client sent in its head. */
    public HeaderFields headers() {
        return headers;
    }

    /** The event loop of the client's connection. */
    public EventLoop loop() {
        return loop;
    }

    /** Gives the buffers of the call. */
    public ByteBufAllocator allocator() {
        return allocator;
    }

    /** Counts the bytes that the call holds. */
    public MemoryBudget.MemoryReservation memory() {
        return memory;
    }

    /** When the head came, on the scale of {@link System#nanoTime()}. */
    public long startNanos() {
        return startNanos;
    }

    /** The call has begun. */
    public void began(Operation asked) {
        operation = asked;
    }

    /** What is asked for; null where the request was refused before that was known. */
    public @Nullable Operation operation() {
        return operation;
    }

    /** The route was looked up. */
    public void routed(String key) {
        route = key;
    }

    /** The key of the route: a configured name or pattern, or what stands for others; {@link #NO_ROUTE} for no model. */
    public String route() {
        return route;
    }

    /** A target was chosen; of several, because of a fallback or in a stream, the last. */
    public void sentTo(String chosen, ModelRef model) {
        upstream = chosen;
        served = model;
    }

    /** The upstream that the call went to; empty where it went to none. */
    public String upstream() {
        return upstream;
    }

    /** The model as the upstream was asked for it; null where none was. */
    public @Nullable ModelRef served() {
        return served;
    }

    /** The request goes to a server, be it once more. */
    public void attempted(String address) {
        server = address;
        attempts++;
    }

    /** The server that the request was sent to last; empty for none. */
    public String server() {
        return server;
    }

    /** How often the request was sent. */
    public int attempts() {
        return attempts;
    }

    /** The request will be sent once more. */
    public void retried(String why) {
        if (retries.isEmpty()) {
            retries = new ArrayList<>(2);
        }
        retries.add(why);
    }

    /** Why the request was sent once more, for each time. */
    public List<String> retries() {
        return retries;
    }

    /** More of the request's body has come, decompressed. */
    public void received(int bytes) {
        requestBytes += bytes;
    }

    /** Bytes of the request's body, decompressed. */
    public long requestBytes() {
        return requestBytes;
    }

    /** More of the response's body goes out. */
    public void answered(int bytes) {
        responseBytes += bytes;
    }

    /** Bytes of the response's body, before compression. */
    public long responseBytes() {
        return responseBytes;
    }

    /** The request is complete. */
    public void requestComplete(long now) {
        requestNanos = Math.max(0, now - startNanos);
    }

    /** Nanoseconds from the head of the request to its end; {@link #NOT_YET} where that did not come. */
    public long requestNanos() {
        return requestNanos;
    }

    /** The response begins; only the first time counts. */
    public void responseBegan(long now) {
        if (responseNanos < 0) {
            responseNanos = Math.max(0, now - startNanos);
        }
    }

    /** Whether the response has begun. */
    public boolean responding() {
        return responseNanos >= 0;
    }

    /**
     * Nanoseconds from the end of the request to the beginning of the response; {@link #NOT_YET} where one of them did not
     * come, or the response came first.
     */
    public long upstreamNanos() {
        return requestNanos < 0 || responseNanos < requestNanos ? NOT_YET : responseNanos - requestNanos;
    }

    /** Nanoseconds from the beginning of the response to the end of the call; {@link #NOT_YET} where there was none. */
    public long responseWriteNanos() {
        return responseNanos < 0 || totalNanos < 0 ? NOT_YET : totalNanos - responseNanos;
    }

    /** Nanoseconds from the head of the request to the end of the call; {@link #NOT_YET} until then. */
    public long totalNanos() {
        return totalNanos;
    }

    /** Why the call ends, said before it does; only the first failure counts. */
    public void failed(OipException failure) {
        if (code == null) {
            code = failure.code();
            reason = failure.message();
        }
    }

    /** The client gave up. Without effect where the call has failed. */
    public void cancelled() {
        if (code == null) {
            code = ErrorCode.CANCELLED;
            reason = "the client cancelled the call";
        }
    }

    /** How the call ended; null for well. */
    public @Nullable ErrorCode code() {
        return code;
    }

    /** Why the call failed, in words that clients may not be meant to see; empty where it did not. */
    public String reason() {
        return reason;
    }

    /** The call has ended; false where it had ended before. */
    public boolean ended(long now) {
        if (totalNanos >= 0) {
            return false;
        }
        totalNanos = Math.max(0, now - startNanos);
        return true;
    }
}
