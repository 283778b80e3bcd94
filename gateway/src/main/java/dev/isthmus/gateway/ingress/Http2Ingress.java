package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.UniformStreamByteDistributor;
import org.jspecify.annotations.Nullable;

/** HTTP/2 of one connection, with REST and gRPC streams side by side; no child channel per stream. */
final class Http2Ingress extends Http2ConnectionHandler {
    /** What a client may send on one stream before it hears from us, in bytes. */
    private static final int STREAM_WINDOW = 1 << 20;

    /** The same for the connection. */
    private static final int CONNECTION_WINDOW = 16 << 20;

    /** Netty's default of 1 KiB makes a frame of every KiB as soon as two streams write. */
    private static final int WRITE_QUANTUM = 16 * 1024;

    private boolean flushScheduled;

    private Http2Ingress(Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings settings) {
        super(decoder, encoder, settings);
        // Netty's default copies every received byte once more.
        setCumulator(COMPOSITE_CUMULATOR);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
        super.handlerAdded(ctx);
        Http2Stream connection = connection().connectionStream();
        int increment = CONNECTION_WINDOW - decoder().flowController().windowSize(connection);
        decoder().flowController().incrementWindowSize(connection, increment);
        ctx.flush();
    }

    /** Flushes at the end of this turn of the loop, once for all that is written until then. */
    void flushSoon(ChannelHandlerContext ctx) {
        if (!flushScheduled) {
            flushScheduled = true;
            ctx.executor().execute(() -> {
                flushScheduled = false;
                flush(ctx);
            });
        }
    }

    /** Builds the handler of one connection. */
    static final class Builder extends AbstractHttp2ConnectionHandlerBuilder<Http2Ingress, Builder> {
        private final Entry entry;

        Builder(Entry entry) {
            this.entry = entry;
            Http2Connection connection = new DefaultHttp2Connection(true);
            UniformStreamByteDistributor distributor = new UniformStreamByteDistributor(connection);
            distributor.minAllocationChunk(WRITE_QUANTUM);
            connection.remote().flowController(new DefaultHttp2RemoteFlowController(connection, distributor));
            connection(connection);
            initialSettings(new Http2Settings()
                    .initialWindowSize(STREAM_WINDOW)
                    .maxConcurrentStreams(entry.settings().get().maxConcurrentStreams())
                    .maxHeaderListSize(IngressSettings.MAX_HEADER_BYTES));
            decoderEnforceMaxRstFramesPerWindow(200, 30);
        }

        @Override
        public Http2Ingress build() {
            return super.build();
        }

        @Override
        protected Http2Ingress build(
                Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings initial) {
            Http2Ingress handler = new Http2Ingress(decoder, encoder, initial);
            Http2Streams streams = new Http2Streams(handler, entry);
            decoder.connection().addListener(streams.closing());
            encoder.flowController().listener(streams::writabilityChanged);
            frameListener(streams);
            return handler;
        }
    }

    /** Gives each stream's frames to its exchange. */
    private static final class Http2Streams extends Http2FrameAdapter {
        private final Http2Ingress handler;
        private final Entry entry;
        private final Http2Connection.PropertyKey key;

        Http2Streams(Http2Ingress handler, Entry entry) {
            this.handler = handler;
            this.entry = entry;
            this.key = handler.connection().newKey();
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx,
                int streamId,
                Http2Headers headers,
                int streamDependency,
                short weight,
                boolean exclusive,
                int padding,
                boolean endOfStream)
                throws Http2Exception {
            onHeadersRead(ctx, streamId, headers, padding, endOfStream);
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
            Http2Stream stream = handler.connection().stream(streamId);
            Http2Exchange exchange = stream.getProperty(key);
            if (exchange == null) {
                Http2Responder responder = new Http2Responder(ctx, handler, streamId);
                boolean grpc = GrpcExchange.isGrpc(headers);
                IngressSettings settings = entry.settings().get();
                exchange = grpc ? new GrpcExchange(responder, settings) : new Http2RestExchange(responder, settings);
                stream.setProperty(key, exchange);
                exchange.open(ctx, headers, grpc ? entry.grpc() : entry.rest());
            }
            // Trailers of a request say nothing that is needed here.
            if (endOfStream) {
                exchange.end();
            }
        }

        @Override
        public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream) {
            int consumed = data.readableBytes() + padding;
            Http2Exchange exchange = handler.connection().stream(streamId).getProperty(key);
            if (exchange != null) {
                exchange.data(data.retainedSlice());
                if (endOfStream) {
                    exchange.end();
                } else if (exchange.paused()) {
                    exchange.withheld(consumed);
                    return 0;
                }
            }
            return consumed;
        }

        /** Streams that were full go on when their client has taken something. */
        void writabilityChanged(Http2Stream stream) {
            @Nullable Http2Exchange exchange = stream.getProperty(key);
            if (exchange != null
                    && handler.connection().remote().flowController().isWritable(stream)) {
                exchange.becameWritable();
            }
        }

        Http2ConnectionAdapter closing() {
            return new Http2ConnectionAdapter() {
                @Override
                public void onStreamClosed(Http2Stream stream) {
                    @Nullable Http2Exchange exchange = stream.getProperty(key);
                    if (exchange != null) {
                        exchange.cancel();
                    }
                }
            };
        }
    }
}
