package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.AsciiString;
import java.util.Map;

/** An exchange whose response is a body, over one HTTP/2 stream. */
final class Http2HttpExchange implements Http2Exchange, ResponseWriter {
    private static final AsciiString STATUS = AsciiString.cached(":status");
    private static final String CONTENT_LENGTH = "content-length";
    private static final String CONTENT_TYPE = "content-type";
    private static final HeaderFieldList OK = HeaderFieldList.of(HeaderField.constant(":status", "200"));
    private static final HeaderField JSON = HeaderField.constant(CONTENT_TYPE, "application/json");
    private static final HeaderField BINARY = HeaderField.constant(CONTENT_TYPE, "application/octet-stream");

    private final Http2Stream stream;
    private final Channel channel;
    private final HttpExchange exchange;
    private int withheld;

    Http2HttpExchange(Http2Stream stream, Channel channel, Http2Head head, ListenerContext listener) {
        this.stream = stream;
        this.channel = channel;
        this.exchange = listener.exchange(this, head, head.connection(), channel);
    }

    void open(Http2Head head) {
        exchange.open(head, channel);
    }

    /** Rejects the request before it becomes a call. */
    void reject(OipException refusal) {
        exchange.reject(refusal);
    }

    @Override
    public void data(ByteBuf chunk) {
        // It may be parsed.
        stream.turn().tookBytes(chunk.readableBytes());
        exchange.data(chunk);
    }

    @Override
    public boolean paused() {
        return exchange.paused();
    }

    @Override
    public PeerWait awaited() {
        if (exchange.responded() || paused()) {
            return PeerWait.NOTHING;
        }
        return stream.bodyBegan() ? PeerWait.BODY : PeerWait.ANYTHING;
    }

    @Override
    public void timedOut(TimeoutRule rule) {
        exchange.timedOut(rule);
    }

    @Override
    public void failCall(OipException failure) {
        exchange.failCall(failure);
    }

    @Override
    public void withheld(int bytes) {
        withheld += bytes;
    }

    @Override
    public void resumeRequest() {
        int bytes = withheld;
        withheld = 0;
        stream.consumed(bytes);
    }

    @Override
    public void end() {
        exchange.end();
    }

    @Override
    public void responseEnded() {
        exchange.written();
    }

    @Override
    public void cancel() {
        exchange.cancel();
    }

    @Override
    public void writabilityChanged() {
        exchange.writabilityChanged();
    }

    @Override
    public void respond(RestResponse response) {
        HeaderFieldList head = fields(response);
        if (!response.headers().containsKey(CONTENT_LENGTH)) {
            head = head.with(CONTENT_LENGTH, Integer.toString(response.body().readableBytes()));
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

    @Override
    public long queued() {
        return stream.queued();
    }

    @Override
    public boolean isWritable() {
        return stream.isWritable();
    }

    private static HeaderFieldList fields(RestResponse response) {
        HeaderFieldList fields = response.status() == 200
                ? OK
                : HeaderFieldList.of(HeaderField.of(STATUS, Integer.toString(response.status())));
        for (Map.Entry<String, String> header : response.headers().entrySet()) {
            fields = fields.with(field(header.getKey(), header.getValue()));
        }
        return fields;
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
