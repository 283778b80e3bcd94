package dev.isthmus.gateway.upstream.rest;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http1.Http1Response;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseStatus;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response. Used on the event loop of the call. Only a safe request (RFC 9110, section 9.2.2) is
 * sent a second time, if its connection had carried others before and ends without a response.
 */
final class RestCall implements Subscription {
    private final RestConnectionPool pool;
    private final RestRequestSpec request;
    private final RestResponseHandler handler;
    private final Reply reply;
    private final UpstreamFailures failures;
    private final ResponseCollector response;
    private @Nullable CallTimeout timeout;
    private @Nullable RestConnection connection;
    private @Nullable ConnectionCounts waitingAt;
    private long waitsSince;
    private boolean retryable;
    private boolean retried;
    private boolean ended;

    /** @param maxBytes of a response that is buffered */
    RestCall(
            RestRequestSpec request,
            RestResponseHandler handler,
            long maxBytes,
            Reply reply,
            MemoryBudget.MemoryReservation memory) {
        this.pool = request.pool();
        this.request = request;
        this.handler = handler;
        this.reply = reply;
        this.failures = pool.failures();
        this.response = new ResponseCollector(maxBytes, memory);
    }

    /** @param timeoutNanos {@link Long#MAX_VALUE} for none */
    void start(long timeoutNanos) {
        CallTimeout started = new CallTimeout(timeoutNanos, true);
        timeout = started;
        if (started.start(pool.timeouts(), () -> timedOut(timeoutNanos))) {
            pool.acquire(this);
        } else {
            timedOut(0);
        }
    }

    boolean ended() {
        return ended;
    }

    boolean safe() {
        return request.safe();
    }

    /** It waits for a connection from now on. */
    void waits(ConnectionCounts counts) {
        waitingAt = counts;
        waitsSince = pool.nanoTime();
        counts.waitBegan();
    }

    private void waitEnded() {
        if (waitingAt != null) {
            waitingAt.waitEnded(pool.nanoTime() - waitsSince);
            waitingAt = null;
        }
    }

    void sendOn(RestConnection carrier) {
        waitEnded();
        connection = carrier;
        retryable = !retried && safe() && carrier.used();
        carrier.send(request, this);
        if (!retryable) {
            request.release();
        }
    }

    /** The head of the response, or of an interim one. */
    void head(Http1Response head) {
        try {
            response.begin(head);
        } catch (OipException e) {
            fail(e);
        }
    }

    /**
     * The next part of the body.
     *
     * @param part taken
     * @param last whether it is the last part
     */
    void part(ByteBuf part, boolean last) {
        try {
            boolean complete = response.append(part, last);
            if (complete && !ended) {
                completed();
            } else if (response.streamed() && !ended) {
                awaitClient();
            }
        } catch (OipException e) {
            fail(e);
        } catch (OutOfMemoryError e) {
            fail(UpstreamFailures.noMemory());
        }
    }

    /** The server sent something that cannot be read. */
    void malformed(OipException violation) {
        boolean head = violation.code() == ErrorCode.HEADERS_TOO_LARGE;
        fail(
                head
                        ? failures.tooLarge("more header fields than are accepted", violation)
                        : failures.badResponse("sent a response that is not HTTP", violation));
    }

    /** The receiver of a response's body in parts; null to buffer the body. */
    @Nullable
    PartReader parts(Http1Response head) {
        return begun(head, handler.parts(head.status(), head.fields(), reply));
    }

    /**
     * The same for a large response that is still arriving.
     *
     * @param length {@link ReplyMessage.Part#UNKNOWN} if unknown
     */
    @Nullable
    PartReader passed(Http1Response head, long length) {
        return begun(head, handler.passed(head.status(), head.fields(), length, reply));
    }

    private @Nullable PartReader begun(Http1Response head, @Nullable PartReader parts) {
        if (parts != null) {
            returnHeaders(head);
        }
        return parts;
    }

    private void returnHeaders(Http1Response head) {
        reply.headers(head.fields().joined(pool.settings().returnedHeaders()::contains));
    }

    /** Stops reading until the client is ready. */
    private void awaitClient() {
        if (connection != null && !reply.isReady()) {
            connection.read(false);
        }
    }

    @Override
    public void onReady() {
        if (connection != null) {
            connection.read(true);
        }
    }

    private void completed() {
        RestConnection carrier = connection;
        connection = null;
        end();
        if (response.streamed()) {
            finished(carrier, true);
            reply.complete();
            return;
        }
        Http1Response head = response.head();
        ReplyMessage message = null;
        OipException failure = null;
        try {
            message = handler.read(head.status(), head.fields(), response.takeBody());
        } catch (OipException e) {
            failure = e;
        } catch (RuntimeException e) {
            failure = failures.badResponse("sent a response that cannot be read", e);
        } catch (OutOfMemoryError e) {
            failure = UpstreamFailures.noMemory();
        }
        boolean valid = failure == null || head.status() != HttpResponseStatus.OK.code();
        finished(carrier, valid);
        if (valid) {
            returnHeaders(head);
        }
        if (message != null) {
            reply.only(message);
        } else if (failure != null) {
            reply.fail(failure);
        }
    }

    /** @param valid if not, what comes next on the connection may not be the response to the next request */
    private void finished(@Nullable RestConnection carrier, boolean valid) {
        if (carrier != null) {
            carrier.finished(valid && keepsAlive(response.head()));
        }
    }

    /**
     * Whether the connection can be reused. After a 500 it is not, whatever the server says: uvicorn closes the
     * connection once it has logged the exception, and a request sent meanwhile is lost with no way to know whether it
     * was processed.
     */
    private static boolean keepsAlive(Http1Response head) {
        return head.persistent() && head.status() != HttpResponseStatus.INTERNAL_SERVER_ERROR.code();
    }

    void connectFailed(@Nullable Throwable cause) {
        fail(retried ? failures.connectionClosed(cause) : failures.unreachable(cause));
    }

    /** The connection ended before the response did. */
    void connectionLost(@Nullable Throwable cause) {
        connection = null;
        if (retryable && !response.started() && !pool.closed()) {
            retryable = false;
            retried = true;
            pool.acquireFresh(this);
            return;
        }
        if (pool.closed()) {
            fail(failures.closedInFlight());
        } else {
            fail(response.events() ? failures.streamBroken(cause) : failures.connectionClosed(cause));
        }
    }

    private void timedOut(long timeoutNanos) {
        fail(failures.timedOut(timeoutNanos, null));
    }

    void fail(OipException failure) {
        if (!ended) {
            abandon();
            reply.fail(failure);
        }
    }

    @Override
    public void cancel() {
        if (!ended) {
            abandon();
        }
    }

    private void abandon() {
        end();
        response.takeBody().release();
        RestConnection carrier = connection;
        connection = null;
        if (carrier == null) {
            pool.forget(this);
        } else {
            carrier.abandon();
        }
    }

    private void end() {
        ended = true;
        waitEnded();
        response.endParts();
        request.release();
        if (timeout != null) {
            timeout.stop();
        }
    }

    /** Assembles one response from its parts, copying only small parts. */
    private final class ResponseCollector {
        /** More interim responses serve no purpose and would only use up the deadline. */
        private static final int MAX_INTERIM = 32;

        /** Larger bodies may be forwarded in parts, in bytes. */
        private static final int LARGE = 64 << 10;

        private final long maxBytes;
        private final MemoryBudget.MemoryReservation memory;
        private @Nullable Http1Response head;
        private @Nullable ByteBuf body;
        private long length;
        /** Memory reserved for a large buffered response before it has arrived. */
        private long reserved;

        private boolean informational;
        private int interim;
        private @Nullable PartReader parts;
        /** Whether the call was asked to forward the body. */
        private boolean passOffered;

        /** @param memory reserves memory for the buffered body */
        ResponseCollector(long maxBytes, MemoryBudget.MemoryReservation memory) {
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
                    throw failures.badResponse(
                            "sent more than " + MAX_INTERIM + " interim responses to a request", null);
                }
                informational = true;
                return;
            }
            if (response.status() / 100 == 3) {
                throw failures.notFollowed(response.status(), response.fields().get(HttpHeaderNames.LOCATION));
            }
            head = response;
            parts = RestCall.this.parts(response);
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
                parts = passed(response, announced);
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
}
