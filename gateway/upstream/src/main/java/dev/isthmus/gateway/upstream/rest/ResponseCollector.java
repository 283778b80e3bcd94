package dev.isthmus.gateway.upstream.rest;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.http1.Http1Response;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/** Assembles one response from its parts, copying only small parts. */
final class ResponseCollector {
    /** More interim responses serve no purpose and would only use up the deadline. */
    private static final int MAX_INTERIM = 32;

    /** Larger bodies may be forwarded in parts, in bytes. */
    private static final int LARGE = 64 << 10;

    private final UpstreamFailures failures;
    private final long maxBytes;
    private final MemoryBudget.MemoryReservation memory;
    private @Nullable Http1Response head;
    private @Nullable ByteBuf body;
    private long length;
    /** Memory reserved for a large buffered response before it has arrived. */
    private long reserved;

    private boolean informational;
    private int interim;
    private final RestCall call;
    private @Nullable PartReader parts;
    /** Whether the call was asked to forward the body. */
    private boolean passOffered;

    /**
     * An empty response.
     *
     * @param memory reserves memory for the buffered body
     * @param call selects the receiver of a body in parts
     */
    ResponseCollector(UpstreamFailures failures, long maxBytes, MemoryBudget.MemoryReservation memory, RestCall call) {
        this.failures = failures;
        this.call = call;
        this.maxBytes = maxBytes;
        this.memory = memory;
    }

    /**
     * Begins a response, or an interim one.
     *
     * @throws OipException if the response is invalid or too large
     */
    void begin(Http1Response response) {
        if (response.interim()) {
            if (response.status() == HttpResponseStatus.SWITCHING_PROTOCOLS.code()) {
                throw failures.badResponse("returned status 101, which was not requested", null);
            }
            interim++;
            if (interim > MAX_INTERIM) {
                throw failures.badResponse("sent more than " + MAX_INTERIM + " interim responses to a request", null);
            }
            informational = true;
            return;
        }
        head = response;
        parts = call.parts(response);
        long announced = response.contentLength();
        if (parts == null && announced > maxBytes) {
            throw failures.responseTooLarge(maxBytes, announced);
        }
        String encoding = response.fields().get(HttpHeaderNames.CONTENT_ENCODING);
        if (encoding != null && !HttpHeaderValues.IDENTITY.contentEqualsIgnoreCase(encoding)) {
            throw failures.badResponse(
                    "answered with content encoding '" + encoding + "', which was not requested", null);
        }
    }

    /**
     * Adds the next part of the body.
     *
     * @param bytes taken
     * @param last whether it is the last part
     * @return whether the response is complete
     * @throws OipException if the response is too large
     */
    boolean append(ByteBuf bytes, boolean last) {
        if (informational) {
            bytes.release();
            informational = !last;
            return false;
        }
        PartReader streaming = parts;
        if (streaming != null && !passOffered) {
            streaming.part(bytes);
            if (last) {
                streaming.end();
            }
            return last;
        }
        length += bytes.readableBytes();
        if (length > maxBytes) {
            bytes.release();
            throw failures.responseTooLarge(maxBytes, null);
        }
        if (streaming != null) {
            streaming.part(bytes);
        } else if (bytes.isReadable()) {
            join(bytes);
            memory.response(Math.max(length, reserved));
            if (!last) {
                pass();
            }
        } else {
            bytes.release();
        }
        return last;
    }

    /** Offers a large body to the call, to be forwarded from here on. */
    private void pass() {
        Http1Response response = head();
        long announced = response.contentLength();
        if (!passOffered && Math.max(announced, length) > LARGE) {
            passOffered = true;
            parts = call.passed(response, announced);
            if (parts != null) {
                parts.part(takeBody());
            } else {
                // Reserve the complete body: responses that wait for each other's memory would never complete.
                reserved = Math.clamp(announced, 0, maxBytes);
                memory.response(Math.max(length, reserved));
            }
        }
    }

    private void join(ByteBuf bytes) {
        ByteBuf before = body;
        body = before == null ? bytes : SmallParts.join(before.alloc(), before, bytes);
    }

    /** Whether the body is delivered in parts. */
    boolean streamed() {
        return parts != null;
    }

    /** Whether the body is a stream of events. */
    boolean events() {
        return parts != null && !passOffered;
    }

    /** Releases the receiver of the parts. */
    void endParts() {
        if (parts != null) {
            parts.release();
        }
    }

    /** Whether the headers of the final response have arrived. */
    boolean started() {
        return head != null;
    }

    /** The headers of the response; only once it has started. */
    Http1Response head() {
        return requireNonNull(head);
    }

    /** The body so far; the caller becomes its owner. */
    ByteBuf takeBody() {
        ByteBuf taken = body;
        body = null;
        return taken == null ? Unpooled.EMPTY_BUFFER : SmallParts.complete(taken);
    }
}
