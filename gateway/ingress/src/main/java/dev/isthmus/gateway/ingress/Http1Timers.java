package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.BodyProgress;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.channel.ChannelHandlerContext;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Enforces the timeouts of an HTTP/1.1 connection, by periodic checks; passes on the steps of a drain. */
final class Http1Timers implements ConnectionTimer.ProtocolHandler {
    /** Time for another request before an idle connection is closed, and between the checks for that. */
    private static final long IDLE_SECONDS = 1;
    /** Until the event loop has read the sockets once more. */
    private static final long READ_MILLIS = 1;

    private final RequestReader reader;
    private final Http1Handler handler;
    private final ChannelHandlerContext ctx;
    private final BodyProgress body = new BodyProgress();
    private ClientWait awaited = ClientWait.NOTHING;
    private long messages;
    private long since;

    /** What the connection waits for. */
    private enum ClientWait {
        NOTHING,
        REQUEST,
        REST_OF_HEAD,
        BODY
    }

    Http1Timers(RequestReader reader, Http1Handler handler, ChannelHandlerContext ctx) {
        this.reader = reader;
        this.handler = handler;
        this.ctx = ctx;
    }

    @Override
    public void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        ClientWait next = awaited();
        if (next == ClientWait.BODY) {
            if (awaited != ClientWait.BODY) {
                body.begin(reader.bytes(), now);
            }
        } else if (next != awaited || reader.messages() != messages) {
            since = now;
        }
        awaited = next;
        messages = reader.messages();
        TimeoutRule rule = passed(now, timeouts);
        if (rule != null) {
            expired.accept(rule);
            handler.timedOut(ctx, rule);
        }
    }

    @Override
    public long incompleteBytes() {
        return reader.held();
    }

    @Override
    public long rememberedBytes() {
        return 0;
    }

    @Override
    public long progress() {
        return reader.messages();
    }

    @Override
    public boolean serving() {
        return awaited() == ClientWait.NOTHING;
    }

    @Override
    public void overloaded(OipException why) {
        handler.overloaded(ctx, why);
    }

    @Override
    public ConnectionUse use(long now) {
        boolean idle = handler.betweenRequests();
        // The last check may have been before the last request.
        boolean measured = idle && awaited == ClientWait.REQUEST && reader.messages() == messages;
        return new ConnectionUse(
                "HTTP/1.1", idle ? 0 : 1, measured ? Duration.ofNanos(Math.max(0, now - since)) : Duration.ZERO);
    }

    @Override
    public void drain() {
        ctx.executor().schedule(() -> closeIdle(false), IDLE_SECONDS, TimeUnit.SECONDS);
    }

    /**
     * Closes the connection if it is idle; otherwise a response closes it, or this is tried again. A busy event loop may
     * not have read a request that is there, so it closes what was idle twice, with a read in between.
     */
    private void closeIdle(boolean readAgain) {
        if (!handler.betweenRequests() || reader.partial() || reader.isPaused()) {
            if (ctx.channel().isActive()) {
                drain();
            }
        } else if (readAgain) {
            handler.close(ctx);
        } else {
            ctx.executor().schedule(() -> closeIdle(true), READ_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void shutDown(OipException why) {
        handler.shutDown(ctx, why);
    }

    private ClientWait awaited() {
        if (handler.betweenRequests()) {
            return reader.partial() ? ClientWait.REST_OF_HEAD : ClientWait.REQUEST;
        }
        return handler.awaitsBody() ? ClientWait.BODY : ClientWait.NOTHING;
    }

    private @Nullable TimeoutRule passed(long now, ConnectionTimeouts timeouts) {
        return switch (awaited) {
            case NOTHING -> null;
            case REQUEST -> ConnectionTimeouts.passed(timeouts.idle(), since, now) ? TimeoutRule.IDLE : null;
            case REST_OF_HEAD ->
                ConnectionTimeouts.passed(timeouts.requestHeaders(), since, now) ? TimeoutRule.REQUEST_HEADERS : null;
            case BODY -> body.check(reader.bytes(), now, timeouts);
        };
    }
}
