package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.HeaderField;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.http2.Http2Stream;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.AsciiString;
import java.util.Map;

/** An exchange whose response is a body, over one HTTP/2 stream. */
final class Http2HttpExchange extends Http2Exchange implements ResponseWriter {
    private static final AsciiString STATUS = AsciiString.cached(":status");
    private static final String CONTENT_LENGTH = "content-length";
    private static final String CONTENT_TYPE = "content-type";
    private static final HeaderFieldList OK = HeaderFieldList.of(HeaderField.constant(":status", "200"));
    private static final HeaderField JSON = HeaderField.constant(CONTENT_TYPE, "application/json");
    private static final HeaderField BINARY = HeaderField.constant(CONTENT_TYPE, "application/octet-stream");

    private final Map<String, String> cors;
    private final HttpExchange exchange;

    Http2HttpExchange(Http2Stream stream, Channel channel, Http2Head head, ListenerContext listener) {
        super(stream);
        this.cors = listener.cors(head);
        this.exchange = listener.exchange(this, head, head.connection(), channel);
    }

    @Override
    HttpExchange exchange() {
        return exchange;
    }

    @Override
    void data(ByteBuf chunk) {
        // It may be parsed.
        stream().turn().tookBytes(chunk.readableBytes());
        super.data(chunk);
    }

    @Override
    public void respond(RestResponse response) {
        HeaderFieldList head = fields(response);
        if (!response.headers().containsKey(CONTENT_LENGTH)) {
            head = head.with(CONTENT_LENGTH, Integer.toString(response.body().readableBytes()));
        }
        stream().headers(head, false);
        stream().data(response.body(), true);
    }

    @Override
    public void begin(RestResponse head) {
        stream().headers(fields(head), false);
    }

    @Override
    public void part(ByteBuf part) {
        stream().data(part, false);
    }

    @Override
    public void endBody() {
        stream().data(Unpooled.EMPTY_BUFFER, true);
    }

    @Override
    public void abort() {
        stream().reset(Http2Error.INTERNAL_ERROR.code());
    }

    private HeaderFieldList fields(RestResponse response) {
        HeaderFieldList fields = response.status() == 200
                ? OK
                : HeaderFieldList.of(HeaderField.of(STATUS, Integer.toString(response.status())));
        for (Map.Entry<String, String> header :
                response.allowing(cors).headers().entrySet()) {
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
