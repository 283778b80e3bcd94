package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.util.ReferenceCountUtil;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
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
    private @Nullable ScheduledFuture<?> deadline;
    private @Nullable RestConnection connection;
    private final HeaderAllowList returnedHeaders;
    private @Nullable ConnectionCounts waitingAt;
    private long waitsSince;
    private boolean retryable;
    private boolean retried;
    private boolean ended;

    /** @param maxBytes of a response that is buffered */
    RestCall(
            RestConnectionPool pool,
            RestRequestSpec request,
            RestResponseHandler handler,
            long maxBytes,
            Reply reply,
            UpstreamFailures failures,
            HeaderAllowList returnedHeaders,
            MemoryBudget.MemoryReservation memory) {
        this.pool = pool;
        this.request = request;
        this.handler = handler;
        this.reply = reply;
        this.failures = failures;
        this.returnedHeaders = returnedHeaders;
        this.response = new ResponseCollector(failures, maxBytes, memory, this);
    }

    /** @param timeoutNanos {@link Long#MAX_VALUE} for none */
    void start(EventLoop loop, long timeoutNanos) {
        if (timeoutNanos <= 0) {
            fail(failures.timedOut(0, null));
            return;
        }
        if (timeoutNanos != Long.MAX_VALUE) {
            deadline = loop.schedule(() -> timedOut(timeoutNanos), timeoutNanos, TimeUnit.NANOSECONDS);
        }
        pool.acquire(this);
    }

    boolean ended() {
        return ended;
    }

    /** Whether the request's method is safe. */
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

    /** Sends the request on a connection. */
    void sendOn(RestConnection carrier) {
        waitEnded();
        connection = carrier;
        retryable = !retried && safe() && carrier.used();
        carrier.send(request, this);
        if (!retryable) {
            request.release();
        }
    }

    /**
     * The next part of the response.
     *
     * @param part taken
     */
    void received(HttpObject part) {
        if (ended) {
            ReferenceCountUtil.release(part);
            return;
        }
        try {
            boolean complete = response.add(part);
            if (complete && !ended) {
                completed();
            } else if (response.streamed() && !ended) {
                awaitClient();
            }
        } catch (OipException e) {
            fail(e);
        }
    }

    /** The receiver of a response's body in parts; null to buffer the body. */
    @Nullable
    PartReader parts(HttpResponse head) {
        return begun(head, handler.parts(head.status().code(), head.headers(), reply));
    }

    /**
     * The same for a large response that is still arriving.
     *
     * @param length {@link ReplyMessage.Part#UNKNOWN} if unknown
     */
    @Nullable
    PartReader passed(HttpResponse head, long length) {
        PartReader parts = begun(head, handler.passed(head.status().code(), head.headers(), length, reply));
        if (parts != null && connection != null) {
            connection.limitReads();
        }
        return parts;
    }

    private @Nullable PartReader begun(HttpResponse head, @Nullable PartReader parts) {
        if (parts != null) {
            reply.headers(returned(head.headers()));
        }
        return parts;
    }

    /** The response headers that may be passed to the client. */
    private Map<String, String> returned(HttpHeaders headers) {
        Map<String, String> found = Map.of();
        for (Map.Entry<String, String> header : headers) {
            String name = header.getKey().toLowerCase(Locale.ROOT);
            if (returnedHeaders.contains(name)) {
                found = found.isEmpty() ? new LinkedHashMap<>() : found;
                found.merge(name, header.getValue(), (first, next) -> first + "," + next);
            }
        }
        return found;
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
        HttpResponse head = response.head();
        if (carrier != null) {
            carrier.finished(keepsAlive(head));
        }
        if (response.streamed()) {
            reply.complete();
            return;
        }
        reply.headers(returned(head.headers()));
        ReplyMessage message;
        try {
            message = handler.read(head.status().code(), head.headers(), response.takeBody());
        } catch (OipException e) {
            reply.fail(e);
            return;
        } catch (RuntimeException e) {
            reply.fail(failures.badResponse("sent a response that cannot be read", e));
            return;
        } catch (OutOfMemoryError e) {
            // Out of direct memory.
            reply.fail(new OipException(ErrorCode.OVERLOADED, "out of memory for the response", e));
            return;
        }
        reply.only(message);
    }

    /**
     * Whether the connection can be reused. After a 500 it is not, whatever the server says: uvicorn closes the
     * connection once it has logged the exception, and a request sent meanwhile is lost with no way to know whether it
     * was processed.
     */
    private static boolean keepsAlive(HttpResponse head) {
        return HttpUtil.isKeepAlive(head) && !head.status().equals(HttpResponseStatus.INTERNAL_SERVER_ERROR);
    }

    void connectFailed(@Nullable Throwable cause) {
        fail(retried ? failures.connectionClosed(cause) : failures.unreachable(cause));
    }

    /** The connection ended before the response did. */
    void connectionLost(@Nullable Throwable cause) {
        connection = null;
        if (ended) {
            return;
        }
        if (retryable && !response.started() && !pool.closed()) {
            retryable = false;
            retried = true;
            pool.acquireFresh(this);
            return;
        }
        fail(pool.closed() ? failures.closedInFlight() : failures.connectionClosed(cause));
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
        if (deadline != null) {
            deadline.cancel(false);
        }
    }
}
