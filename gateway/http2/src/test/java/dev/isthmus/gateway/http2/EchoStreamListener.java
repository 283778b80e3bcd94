package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * A server's listener that echoes the body with trailers. It applies back-pressure: it consumes only what it can write.
 */
final class EchoStreamListener implements StreamListener {
    static final HeaderFieldList HEAD = HeaderFieldList.of(
            HeaderField.constant(":status", "200"), HeaderField.constant("content-type", "application/echo"));
    static final HeaderFieldList TRAILERS = HeaderFieldList.of(HeaderField.constant("grpc-status", "0"));

    private final Http2Stream stream;
    private int owed;

    EchoStreamListener(Http2Stream stream) {
        this.stream = stream;
    }

    @Override
    public void headers(Http2Headers headers, boolean end) {
        if (headers.method() != null) {
            stream.headers(HEAD, false);
        }
        if (end) {
            stream.headers(TRAILERS, true);
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        owed += data.readableBytes();
        stream.data(data, false);
        writabilityChanged();
        if (end) {
            stream.headers(TRAILERS, true);
        }
    }

    @Override
    public void writabilityChanged() {
        if (stream.isWritable()) {
            stream.consumed(owed);
            owed = 0;
        }
    }

    @Override
    public void closed(StreamEnd end) {}
}
