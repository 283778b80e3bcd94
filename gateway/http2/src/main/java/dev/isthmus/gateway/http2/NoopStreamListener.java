package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/** Ignores all events and releases data: the listener of a stream that has none yet, or no longer. */
enum NoopStreamListener implements StreamListener {
    INSTANCE;

    @Override
    public void headers(Http2Headers headers, boolean end) {}

    @Override
    public void data(ByteBuf data, boolean end) {
        data.release();
    }

    @Override
    public void closed(StreamEnd end) {}
}
