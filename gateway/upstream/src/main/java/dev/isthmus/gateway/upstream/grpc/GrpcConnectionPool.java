package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.upstream.RemoteServer.ConnectionPool;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one server from one event loop; used on that loop only. All calls share one connection unless the
 * server's stream limit requires more. Connections are established one at a time; if that fails and there is no other
 * connection, the waiting calls fail.
 */
final class GrpcConnectionPool extends ConnectionPool {
    /** Calls that may have a large window from the start, before their clients have read anything. */
    private static final int LARGE_WINDOWS = 2;

    private static final int REMEMBERED = 4;
    /** Of names and values that clients get of a field block. */
    private static final int MAX_RETURNED = 16 * 1024;

    private final StatusText texts;
    private final ConnectionRules rules;
    /**
     * Field blocks without anything that clients get, as most are: a connection returns the same object for a repeated
     * one.
     */
    private final @Nullable Http2Headers[] withoutAny = new @Nullable Http2Headers[REMEMBERED];

    private int nextWithoutAny;
    /** Connections that accept streams, or will when others have ended. */
    private final List<GrpcConnection> ready = new ArrayList<>();
    /** Connections that accept no more streams and close when theirs have ended. */
    private final Set<GrpcConnection> draining = new LinkedHashSet<>();

    /** The calls that wait for a stream, in order, and since when. */
    private final LinkedHashMap<GrpcCall, Long> waiting = new LinkedHashMap<>();

    private @Nullable GrpcConnection connecting;
    private int largeWindows;

    GrpcConnectionPool(GrpcUpstream server, EventLoop loop) {
        super(server, loop);
        this.texts = server.texts();
        this.rules = server.rules();
    }

    /** Acquires a permit for a large window, if one is free; {@link #largeWindowEnded} releases it. */
    boolean largeWindow() {
        boolean free = largeWindows < LARGE_WINDOWS;
        largeWindows += free ? 1 : 0;
        return free;
    }

    /** Releases a permit for a large window. */
    void largeWindowEnded() {
        largeWindows--;
    }

    StatusText texts() {
        return texts;
    }

    /** Passes what clients get of headers or trailers; if that is too much, nothing, and returns the failure. */
    @Nullable
    OipException pass(Http2Headers metadata, Reply client) {
        for (Http2Headers each : withoutAny) {
            if (each == metadata) {
                return null;
            }
        }
        Map<String, String> shown = CallMetadata.returned(metadata, settings().returnedHeaders());
        if (shown.isEmpty()) {
            withoutAny[nextWithoutAny] = metadata;
            nextWithoutAny = (nextWithoutAny + 1) % REMEMBERED;
        } else if (bytes(shown) > MAX_RETURNED) {
            return failures().tooLarge("more header fields than are passed to clients", null);
        } else {
            client.headers(shown);
        }
        return null;
    }

    private static int bytes(Map<String, String> fields) {
        int bytes = 0;
        for (Map.Entry<String, String> field : fields.entrySet()) {
            bytes += field.getKey().length() + field.getValue().length();
        }
        return bytes;
    }

    /** Opens a stream for the call, or queues it. */
    void acquire(GrpcCall call) {
        if (openStream(call)) {
            return;
        }
        if (waiting.size() >= rules.waiting()) {
            call.fail(failures().overloaded(rules.connections()));
            return;
        }
        waiting.put(call, System.nanoTime());
        counts().waitBegan();
        connect();
    }

    private boolean openStream(GrpcCall call) {
        for (GrpcConnection connection : ready) {
            if (connection.openStream(call)) {
                return true;
            }
        }
        return false;
    }

    /** Removes a call from the queue. */
    void forget(GrpcCall call) {
        waitEnded(waiting.remove(call));
    }

    /** @param since null if the call did not wait */
    private void waitEnded(@Nullable Long since) {
        if (since != null) {
            counts().waitEnded(System.nanoTime() - since);
        }
    }

    private void connect() {
        if (closed()
                || connecting != null
                || waiting.isEmpty()
                || ready.size() >= rules.connections()
                || refusesStreams()) {
            return;
        }
        GrpcConnection next = new GrpcConnection(this, rules);
        connecting = next;
        connect(channel -> {
                    if (settings().tls() != null) {
                        settings().tls().addHttp2(channel, settings().connectTimeout());
                    }
                    next.join(channel.pipeline());
                })
                .addListener(future -> connected((ChannelFuture) future, next));
    }

    /** Whether the server has a connection on which it accepts no stream at all: another one would not help. */
    private boolean refusesStreams() {
        for (GrpcConnection connection : ready) {
            if (!connection.used()) {
                return true;
            }
        }
        return false;
    }

    private void connected(ChannelFuture future, GrpcConnection connection) {
        if (!future.isSuccess()) {
            connectionClosed(connection, future.cause());
        } else if (closed()) {
            connection.close(failures().closed());
        } else {
            connection.awaitSettings();
        }
    }

    /** The connection is established and its SETTINGS have arrived. */
    void ready(GrpcConnection connection) {
        connecting = null;
        ready.add(connection);
        serveWaiting();
    }

    /** A connection may accept streams again. */
    void serveWaiting() {
        while (!waiting.isEmpty()) {
            Map.Entry<GrpcCall, Long> first = waiting.pollFirstEntry();
            if (!openStream(first.getKey())) {
                waiting.putFirst(first.getKey(), first.getValue());
                connect();
                return;
            }
            waitEnded(first.getValue());
        }
    }

    /** The connection accepts no more streams. */
    void drain(GrpcConnection connection) {
        if (ready.remove(connection)) {
            draining.add(connection);
            replace(connection, null);
        }
    }

    /** A response was that to another request: new calls get new connections. */
    void outOfStep() {
        List.copyOf(ready).forEach(GrpcConnection::retire);
    }

    /** The connection has ended, or could not be established. */
    void connectionClosed(GrpcConnection connection, @Nullable Throwable cause) {
        draining.remove(connection);
        if (connecting == connection) {
            connecting = null;
            failedToConnect(cause);
        } else if (ready.remove(connection)) {
            replace(connection, cause);
        }
    }

    /** A connection that never carried a call is not replaced at once, to avoid a reconnect loop. */
    private void replace(GrpcConnection connection, @Nullable Throwable cause) {
        if (connection.used()) {
            connect();
        } else {
            failedToConnect(cause);
        }
    }

    private void failedToConnect(@Nullable Throwable cause) {
        if (ready.isEmpty()) {
            failWaiting(() -> closed() ? failures().closed() : failures().unreachable(cause));
        }
    }

    private void failWaiting(Supplier<OipException> failure) {
        List<GrpcCall> all = List.copyOf(waiting.keySet());
        waiting.values().forEach(this::waitEnded);
        waiting.clear();
        all.forEach(call -> call.fail(failure.get()));
    }

    @Override
    protected void closeAll() {
        failWaiting(failures()::closed);
        List<GrpcConnection> all = new ArrayList<>(ready);
        all.addAll(draining);
        if (connecting != null) {
            all.add(connecting);
        }
        OipException why = failures().closedInFlight();
        all.forEach(connection -> connection.close(why));
    }

    /**
     * Limits of the connections to one server from one event loop.
     *
     * @param connections open at the same time; more than one is opened only if the server limits the streams of each
     * @param waiting calls that may wait for a connection, or for a stream on one
     * @param pingIdle idle time after which a server with active calls is sent a PING
     * @param pingTimeout timeout of the PING's acknowledgement, and of a new connection's first SETTINGS
     */
    record ConnectionRules(int connections, int waiting, Duration pingIdle, Duration pingTimeout) {
        private static final Duration PING_IDLE = Duration.ofSeconds(30);
        private static final Duration PING_TIMEOUT = Duration.ofSeconds(10);

        static ConnectionRules of(Duration timeout) {
            // Not dividedBy: it uses BigDecimal, whose initialization adds tens of milliseconds to startup.
            Duration half = Duration.ofNanos(timeout.toNanos() / 2);
            return new ConnectionRules(8, 4096, half.compareTo(PING_IDLE) > 0 ? half : PING_IDLE, PING_TIMEOUT);
        }
    }

    /**
     * Maps the ways a call can fail to errors. A server's own status keeps its code and message, except for what gRPC
     * libraries report for messages that are too large: that is no overload, and retrying does not help.
     */
    record StatusText(UpstreamFailures failures, long maxMessageBytes) {

        OipException ofServer(ErrorCode code, String message) {
            if (message.isEmpty()) {
                return failures.ofStatus(code, "returned " + code, null);
            }
            return OipException.ofServer(tooLarge(code, message) ? ErrorCode.PAYLOAD_TOO_LARGE : code, message);
        }

        /**
         * Whether it is the message size limit: "Received message larger than max (9 vs. 8)" and "Sent message …" of gRPC's
         * C core, likewise grpc-go and grpc-js, "gRPC message exceeds maximum size 8: 9" of grpc-java, "message exceeds the
         * maximum configured message size" of grpc-dotnet, "message length too large: found 9 bytes" of tonic, with
         * OUT_OF_RANGE.
         */
        private static boolean tooLarge(ErrorCode code, String message) {
            return switch (code) {
                case RESOURCE_EXHAUSTED ->
                    message.contains("message")
                            && (message.contains("larger than max")
                                    || (message.contains(" exceeds ") && message.contains(" maximum ")));
                case OUT_OF_RANGE -> message.contains("message length too large");
                default -> false;
            };
        }

        /** The failure of a response whose headers are not those of gRPC; null if they are. */
        @Nullable
        OipException ofHead(Http2Headers headers) {
            CharSequence status = headers.status();
            if (status == null || !"200".contentEquals(status)) {
                return ofHttp(status == null ? "" : status, headers.get(HttpHeaderNames.LOCATION));
            }
            return GrpcNames.isGrpc(headers.get(HttpHeaderNames.CONTENT_TYPE)) ? null : notGrpc(null);
        }

        /** The stream ended without a status. */
        OipException of(StreamEnd end) {
            return switch (end.kind()) {
                case REFUSED -> failures.refused(end.cause());
                case LOST -> lost(end);
                case VIOLATION ->
                    end.errorCode() == Http2Error.ENHANCE_YOUR_CALM.code()
                            ? failures.tooLarge("more header fields than are accepted", end.cause())
                            : notGrpc(end.cause());
                case RESET -> ofReset(end);
            };
        }

        private OipException lost(StreamEnd end) {
            if (end.cause() instanceof OipException own) {
                return own;
            }
            return end.isPeerViolation()
                    ? failures.protocolViolation(end.cause())
                    : failures.connectionClosed(end.cause());
        }

        /**
         * The mapping of gRPC over HTTP/2, "Errors", with this gateway's messages and codes. A refusal after the response
         * began does not imply that the request was not processed.
         */
        private OipException ofReset(StreamEnd end) {
            Http2Error code = Http2Error.valueOf(end.errorCode());
            return switch (code == null ? Http2Error.INTERNAL_ERROR : code) {
                case NO_ERROR, CANCEL, REFUSED_STREAM -> failures.connectionClosed(end.cause());
                case ENHANCE_YOUR_CALM ->
                    failures.ofStatus(ErrorCode.RESOURCE_EXHAUSTED, "refused the call", end.cause());
                default -> notGrpc(end.cause());
            };
        }

        /**
         * A response without a gRPC status: from an intermediary, or from a server that does not speak gRPC. The mapping is
         * gRPC's (http-grpc-status-mapping), except that a 4xx keeps its meaning for REST clients: with UNAVAILABLE for 429
         * and INTERNAL for 400, a client's own mistakes would count as failures of the server.
         */
        private OipException ofHttp(CharSequence status, @Nullable CharSequence location) {
            int number = number(status);
            if (number / 100 == 3) {
                return failures.notFollowed(number, location);
            }
            ErrorCode code = switch (number) {
                case 404 -> ErrorCode.UNIMPLEMENTED;
                case 502, 503, 504 -> ErrorCode.UNAVAILABLE;
                default -> number < 500 ? ErrorCode.ofHttpStatus(number) : ErrorCode.UNKNOWN;
            };
            return number < 400 || number > 599
                    ? notGrpc(null)
                    : failures.ofStatus(code, "returned HTTP status " + status, null);
        }

        /** Three digits as a number, as {@code :status} has them; 0 if there is none. */
        private static int number(CharSequence status) {
            return status.isEmpty() ? 0 : Integer.parseInt(status, 0, status.length(), 10);
        }

        /** A message that could not be read. */
        OipException ofMessage(OipException refusal, long limit) {
            if (refusal.code() != ErrorCode.PAYLOAD_TOO_LARGE) {
                return notGrpc(refusal);
            }
            return failures.tooLarge("a response of more than " + limit + " bytes: " + refusal.message(), refusal);
        }

        OipException notGrpc(@Nullable Throwable cause) {
            return failures.badResponse("sent a response that is not gRPC", cause);
        }

        OipException noStatus() {
            return failures.badResponse("ended its response without a status", null);
        }
    }
}
