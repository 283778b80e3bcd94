package dev.isthmus.gateway.upstream.rest;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/** Puts one response together from what the codec makes of it, without copying any but small parts. */
final class ResponseCollector {
    /** More of them to one request are of no use to anybody, and cost time until the deadline. */
    private static final int MOST_INTERIM = 32;

    /** A body that is not longer is not worth passing on in parts, in bytes. */
    private static final int LARGE = 64 << 10;

    private final UpstreamFailures failures;
    private final long maxBytes;
    private final MemoryBudget.MemoryReservation memory;
    private @Nullable HttpResponse head;
    private @Nullable ByteBuf body;
    private long length;
    /** What is counted of a large answer that is gathered, before it has come. */
    private long reserved;

    private boolean informational;
    private int interim;
    private final Readers readers;
    private @Nullable PartReader parts;
    /** Whether it was asked if what is large is passed on. */
    private boolean asked;

    /** Who takes a response's body part by part; null where it is gathered. */
    interface Readers {
        /** Of a response with this head. */
        @Nullable
        PartReader parts(HttpResponse head);

        /**
         * Of a response that is large, of which not all has come.
         *
         * @param length {@link ReplyMessage.Part#UNKNOWN} where it is not known
         */
        @Nullable
        PartReader passed(HttpResponse head, long length);
    }

    /**
     * A response of which nothing has come.
     *
     * @param memory counts what is gathered of its body
     */
    ResponseCollector(
            UpstreamFailures failures, long maxBytes, MemoryBudget.MemoryReservation memory, Readers readers) {
        this.failures = failures;
        this.readers = readers;
        this.maxBytes = maxBytes;
        this.memory = memory;
    }

    /**
     * Takes the next part.
     *
     * @param part taken
     * @return whether the response is complete
     * @throws OipException when it is not what can be taken
     */
    boolean add(HttpObject part) {
        if (part.decoderResult().isFailure()) {
            ReferenceCountUtil.release(part);
            throw failures.badAnswer(
                    "did not answer in HTTP", part.decoderResult().cause());
        }
        if (part instanceof HttpResponse response) {
            begin(response);
        }
        return part instanceof HttpContent content && append(content);
    }

    private void begin(HttpResponse response) {
        if (response.status().codeClass() == HttpStatusClass.INFORMATIONAL) {
            if (response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS)) {
                throw failures.badAnswer("answered 101", null);
            }
            interim++;
            if (interim > MOST_INTERIM) {
                throw failures.badAnswer("sent more than " + MOST_INTERIM + " interim responses to a request", null);
            }
            informational = true;
            return;
        }
        head = response;
        parts = readers.parts(response);
        if (parts == null && HttpUtil.getContentLength(response, -1L) > maxBytes) {
            throw failures.answerTooLarge(maxBytes, null);
        }
        String encoding = response.headers().get(HttpHeaderNames.CONTENT_ENCODING);
        if (encoding != null && !HttpHeaderValues.IDENTITY.contentEqualsIgnoreCase(encoding)) {
            throw failures.badAnswer("answered with a content encoding that was not asked for", null);
        }
    }

    private boolean append(HttpContent content) {
        boolean last = content instanceof LastHttpContent;
        if (informational) {
            content.release();
            informational = !last;
            return false;
        }
        ByteBuf bytes = content.content();
        PartReader streaming = parts;
        if (streaming != null && !asked) {
            streaming.part(bytes);
            if (last) {
                streaming.end();
            }
            return last;
        }
        length += bytes.readableBytes();
        if (length > maxBytes) {
            content.release();
            throw failures.answerTooLarge(maxBytes, null);
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
            content.release();
        }
        return last;
    }

    /** Has a large body passed on from here on, where somebody takes it so. */
    private void pass() {
        HttpResponse begun = head();
        long announced = HttpUtil.getContentLength(begun, ReplyMessage.Part.UNKNOWN);
        if (!asked && Math.max(announced, length) > LARGE) {
            asked = true;
            parts = readers.passed(begun, announced);
            if (parts != null) {
                parts.part(takeBody());
            } else {
                // All of it at once: of answers that wait for each other's room none would ever be complete.
                reserved = Math.clamp(announced, 0, maxBytes);
                memory.response(Math.max(length, reserved));
            }
        }
    }

    private void join(ByteBuf bytes) {
        ByteBuf before = body;
        body = before == null ? bytes : SmallParts.join(before.alloc(), before, bytes);
    }

    /** Whether the body goes elsewhere part by part. */
    boolean streamed() {
        return parts != null;
    }

    /** Ends the reading part by part. */
    void endParts() {
        if (parts != null) {
            parts.release();
        }
    }

    /** Whether anything of the final response has come. */
    boolean started() {
        return head != null;
    }

    /** The head of the complete response. */
    HttpResponse head() {
        return requireNonNull(head);
    }

    /** The body so far, which is the caller's from here on. */
    ByteBuf takeBody() {
        ByteBuf taken = body;
        body = null;
        return taken == null ? Unpooled.EMPTY_BUFFER : SmallParts.complete(taken);
    }
}
