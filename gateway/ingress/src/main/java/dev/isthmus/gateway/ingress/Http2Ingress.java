package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.http2.AbuseRule;
import dev.isthmus.gateway.http2.ConnectionListener;
import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.http2.Http2Connection;
import dev.isthmus.gateway.http2.Http2Options;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.http2.StreamListener;
import dev.isthmus.gateway.ingress.GrpcResponses.GrpcResponseFields;
import dev.isthmus.gateway.ingress.Http2Head.Http2HeadCache;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** HTTP/2 on one connection, with REST and gRPC streams side by side. */
final class Http2Ingress implements ConnectionTimer.ProtocolHandler, ConnectionListener {
    /** Initial flow-control window of a stream, in bytes. */
    private static final int STREAM_WINDOW = 1 << 20;

    /** Flow-control window of the connection, in bytes. */
    private static final int CONNECTION_WINDOW = 16 << 20;

    /** Maximum frame size that the gateway accepts, in bytes; parts of frames are passed on as they arrive. */
    private static final int FRAME = 128 * 1024;

    /** Approximate heap of a request whose body has not ended, without its head's text. */
    private static final int UNENDED_REQUEST = 2 * 1024;
    /** The text of a head takes at most this many times its encoded length. */
    private static final int HEAD_TEXT = 3;

    private static final Duration SOON = Duration.ofSeconds(1);

    private final Channel channel;
    private final ListenerContext listener;
    private final ClientConnection client;
    private final AbusePolicy abuse;
    private final Http2Connection connection;
    private final Http2HeadCache heads;
    /** Requests that have not ended. */
    private int unended;
    /** What their heads take, in bytes. */
    private long unendedBytes;

    Http2Ingress(Channel channel, ListenerContext listener, ClientConnection client) {
        this.channel = channel;
        this.listener = listener;
        this.client = client;
        this.heads = new Http2HeadCache(client);
        IngressSettings settings = listener.settings().get();
        Http2Options options = new Http2Options(
                STREAM_WINDOW,
                CONNECTION_WINDOW,
                FRAME,
                settings.maxConcurrentStreams(),
                IngressSettings.MAX_HEADER_BYTES,
                IngressSettings.MAX_HEADER_FIELDS,
                settings.abuse().limits());
        this.abuse = settings.abuse();
        this.connection = Http2Connection.server(options, IngressStream::new, this);
    }

    /** The handler of the connection. */
    Http2Connection connection() {
        return connection;
    }

    @Override
    public void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        connection.checkTime(now, timeouts, expired);
    }

    @Override
    public ConnectionUse use(long now) {
        return new ConnectionUse("HTTP/2", connection.openStreams(), Duration.ofNanos(connection.idleNanos(now)));
    }

    @Override
    public void drain() {
        connection.goAway();
    }

    @Override
    public void shutDown(OipException why) {
        connection.forEachListener(stream -> {
            if (stream instanceof IngressStream open) {
                open.shutDown(why);
            }
        });
        connection.goAway();
    }

    @Override
    public long incompleteBytes() {
        return connection.incompleteBytes() + unendedBytes;
    }

    @Override
    public long rememberedBytes() {
        return connection.rememberedBytes();
    }

    @Override
    public long progress() {
        return connection.framesBegun();
    }

    @Override
    public boolean serving() {
        return connection.openStreams() > unended;
    }

    @Override
    public void overloaded(OipException why) {
        connection.closeOverloaded();
    }

    private static long headBytes(Http2Stream stream) {
        return UNENDED_REQUEST + (long) HEAD_TEXT * stream.headLength();
    }

    private void requestBegins(Http2Stream stream) {
        unended++;
        unendedBytes += headBytes(stream);
        listener.connections().requestBegins();
    }

    private void requestEnds(Http2Stream stream) {
        unended--;
        unendedBytes -= headBytes(stream);
        listener.connections().requestEnds();
    }

    private @Nullable OipException refusal(Http2Stream stream, Http2Head head, IngressSettings settings) {
        if (listener.connections().tooManyUnended(unended, settings.connections())) {
            return OipException.refused(
                    ErrorCode.UNAVAILABLE,
                    "too many incomplete requests (limit "
                            + settings.connections().mostUnended() + "); complete those on this connection first",
                    SOON);
        }
        return head.refusal(stream.headTooLarge());
    }

    @Override
    public void abused(AbuseRule rule, String what) {
        abuse.listener().abused(channel.remoteAddress(), rule, what);
    }

    /** One stream: passes its events to an exchange, whose kind depends on the head, and carries the response. */
    private final class IngressStream implements StreamListener, GrpcTransport, ResponseWriter {
        private static final AsciiString STATUS = AsciiString.cached(":status");
        private static final String CONTENT_LENGTH = "content-length";
        private static final String CONTENT_TYPE = "content-type";
        private static final HeaderFieldList OK = HeaderFieldList.of(HeaderField.constant(":status", "200"));
        private static final HeaderFieldList CONTINUE = HeaderFieldList.of(HeaderField.of(STATUS, "100"));
        private static final HeaderField JSON = HeaderField.constant(CONTENT_TYPE, "application/json");
        private static final HeaderField BINARY = HeaderField.constant(CONTENT_TYPE, "application/octet-stream");

        private final Http2Stream stream;
        /** Null until its head was received, and what it does at once is done. */
        private @Nullable HttpExchange exchange;

        private boolean grpc;
        /** Of a response other than gRPC's. */
        private Map<String, String> cors = Map.of();
        /** Bytes whose flow-control credit is withheld until the request is read again. */
        private int withheld;

        private boolean unendedRequest;
        private boolean responseEnded;

        IngressStream(Http2Stream stream) {
            this.stream = stream;
        }

        @Override
        public void headers(Http2Headers headers, boolean end) {
            HttpExchange current = exchange;
            if (current == null) {
                if (!end) {
                    unendedRequest = true;
                    requestBegins(stream);
                }
                current = open(headers);
                exchange = current;
                if (responseEnded) {
                    current.written();
                }
            }
            // Request trailers are ignored.
            if (end) {
                requestEnded();
                current.end();
            }
        }

        private HttpExchange open(Http2Headers headers) {
            Http2Head head = stream.headTooLarge() ? new Http2Head(headers, client) : heads.of(headers);
            IngressSettings settings = listener.settings().get();
            OipException refusal = refusal(stream, head, settings);
            grpc = head.grpc();
            cors = grpc ? cors : listener.cors(head);
            HttpExchange begun = grpc
                    ? new GrpcExchange(
                            this,
                            channel.alloc(),
                            settings,
                            listener.context(ClientProtocol.GRPC, head, client, channel),
                            listener.calls())
                    : listener.exchange(this, head, client, channel);
            if (refusal == null) {
                begun.open(head, channel);
                if (unendedRequest && head.expectsContinue() && !begun.responded()) {
                    stream.headers(CONTINUE, false);
                }
            } else {
                begun.reject(refusal);
            }
            return begun;
        }

        @Override
        public void ended() {
            requestEnded();
            responseEnded = true;
            if (exchange != null) {
                exchange.written();
            }
        }

        private void requestEnded() {
            if (unendedRequest) {
                unendedRequest = false;
                requestEnds(stream);
            }
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            HttpExchange current = Objects.requireNonNull(exchange);
            int bytes = data.readableBytes();
            if (!grpc) {
                // It may be parsed.
                stream.turn().tookBytes(bytes);
            }
            current.data(data);
            if (end) {
                requestEnded();
                current.end();
            } else if (current.paused()) {
                withheld += bytes;
            } else {
                stream.consumed(bytes);
            }
        }

        @Override
        public void writabilityChanged() {
            if (exchange != null) {
                exchange.writabilityChanged();
            }
        }

        @Override
        public PeerWait awaited() {
            return exchange == null ? PeerWait.NOTHING : exchange.awaited(stream.bodyBegan());
        }

        @Override
        public void peerTimedOut(TimeoutRule rule) {
            if (exchange != null) {
                exchange.timedOut(rule);
            }
        }

        /** Fails the request, if it has not ended, with this error. */
        void shutDown(OipException why) {
            if (exchange != null) {
                exchange.failCall(why);
            }
        }

        @Override
        public void closed(StreamEnd end) {
            if (exchange != null) {
                exchange.cancel();
            }
        }

        @Override
        public void head(@Nullable ContentCoding coding, @Nullable AsciiString id, Map<String, String> returned) {
            stream.headers(GrpcResponseFields.head(coding, id, returned), false);
        }

        @Override
        public void send(ByteBuf message) {
            stream.data(message, false);
        }

        @Override
        public void complete(boolean headSent, Map<String, String> returned) {
            resumeRequest();
            stream.headers(GrpcResponseFields.complete(headSent, returned), true);
        }

        @Override
        public void fail(OipException failure, boolean headSent, Map<String, String> returned) {
            resumeRequest();
            stream.headers(GrpcResponseFields.failure(failure, headSent, returned), true);
        }

        @Override
        public Turn turn() {
            return stream.turn();
        }

        @Override
        public void inNextTurn(Runnable task) {
            stream.inNextTurn(task);
        }

        @Override
        public void resumeRequest() {
            int bytes = withheld;
            if (bytes > 0) {
                withheld = 0;
                stream.consumed(bytes);
            }
        }

        @Override
        public long queued() {
            return stream.queued();
        }

        @Override
        public boolean isWritable() {
            return stream.isWritable();
        }

        @Override
        public void respond(RestResponse response) {
            HeaderFieldList head = fields(response);
            if (!response.headers().containsKey(CONTENT_LENGTH)) {
                head = head.with(
                        CONTENT_LENGTH, Integer.toString(response.body().readableBytes()));
            }
            stream.headers(head, false);
            stream.data(response.body(), true);
        }

        @Override
        public void begin(RestResponse head) {
            stream.headers(fields(head), false);
        }

        @Override
        public void part(ByteBuf part) {
            stream.data(part, false);
        }

        @Override
        public void endBody() {
            stream.data(Unpooled.EMPTY_BUFFER, true);
        }

        @Override
        public void abort() {
            stream.reset(Http2Error.INTERNAL_ERROR.code());
        }

        private HeaderFieldList fields(RestResponse response) {
            HeaderFieldList fields = response.status() == 200
                    ? OK
                    : HeaderFieldList.of(HeaderField.of(STATUS, Integer.toString(response.status())));
            for (Map.Entry<String, String> header :
                    response.allowing(cors).headers().entrySet()) {
                fields = fields.with(field(header.getKey(), header.getValue()));
            }
            AsciiString id = response.id();
            return id == null ? fields : fields.with(HeaderField.of(HeaderAllowList.REQUEST_ID, id.toString()));
        }

        private static HeaderField field(String name, String value) {
            if (name.equals(CONTENT_TYPE) && value.equals("application/json")) {
                return JSON;
            }
            return name.equals(CONTENT_TYPE) && value.equals("application/octet-stream")
                    ? BINARY
                    : HeaderField.of(name, value);
        }
    }
}
