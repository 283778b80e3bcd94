package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;

/** A client of HTTP/2 that sees every frame and every flush; its connection is no socket, and its loop runs when told to. */
final class FrameClient implements AutoCloseable {
    static final int END_STREAM = 1;
    private static final int END_HEADERS = 4;
    private static final int HEAD = 9;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final DefaultHttp2HeadersEncoder headers = new DefaultHttp2HeadersEncoder();
    private final ByteBuf received = Unpooled.buffer();
    private int flushes;

    /** A frame from the server. */
    record Frame(int type, int flags, int stream, int length) {
        boolean data() {
            return type == Http2FrameTypes.DATA;
        }

        boolean last() {
            return (type == Http2FrameTypes.DATA || type == Http2FrameTypes.HEADERS) && (flags & END_STREAM) != 0;
        }
    }

    /**
     * Says hello.
     *
     * @param settings what the client announces, identifiers and values in turn
     */
    FrameClient(ListenerContext entry, int... settings) {
        // How long a turn takes is no matter here.
        channel.freezeTime();
        channel.pipeline().addLast(new Edge()).addLast(new IngressPipelines(entry));
        ByteBuf hello = Http2CodecUtil.connectionPrefaceBuf();
        ByteBuf payload = Unpooled.buffer();
        for (int i = 0; i < settings.length; i += 2) {
            payload.writeShort(settings[i]).writeInt(settings[i + 1]);
        }
        receive(Unpooled.wrappedBuffer(hello, frame(Http2FrameTypes.SETTINGS, 0, 0, payload)));
        frames();
    }

    static ByteBuf frame(int type, int flags, int stream, ByteBuf payload) {
        ByteBuf head = Unpooled.buffer(HEAD);
        head.writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream);
        return Unpooled.wrappedBuffer(head, payload);
    }

    /** Lets the server send so many bytes more on the connection. */
    void openWindow(int bytes) {
        receive(frame(
                Http2FrameTypes.WINDOW_UPDATE,
                0,
                0,
                Unpooled.buffer(Integer.BYTES).writeInt(bytes)));
    }

    /** The frames of a call of one message. */
    ByteBuf call(int stream, String method, byte[] message) throws Http2Exception {
        Http2Headers head = new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .path("/inference.GRPCInferenceService/" + method)
                .authority("a")
                .set("content-type", "application/grpc")
                .set("te", "trailers");
        ByteBuf block = Unpooled.buffer();
        headers.encodeHeaders(stream, head, block);
        ByteBuf data = Unpooled.buffer(message.length + 5)
                .writeByte(0)
                .writeInt(message.length)
                .writeBytes(message);
        return Unpooled.wrappedBuffer(
                frame(Http2FrameTypes.HEADERS, END_HEADERS, stream, block),
                frame(Http2FrameTypes.DATA, END_STREAM, stream, data));
    }

    /** Has the server read this at once, and do what there is to do then. */
    void receive(ByteBuf bytes) {
        // As a socket's reads: outside the heap, in one piece.
        ByteBuf read = channel.alloc().directBuffer(bytes.readableBytes()).writeBytes(bytes);
        bytes.release();
        channel.writeInbound(read);
        channel.checkException();
    }

    /** Has the server's loop do this, in a turn in which nothing is read, and what follows from it. */
    void turn(Runnable task) {
        // Outside of a read this kind of channel would run what is put off at every write.
        channel.writeInbound(task);
        channel.checkException();
    }

    /** What stands where the socket would be. */
    private final class Edge extends ChannelDuplexHandler {
        private boolean read;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof Runnable task) {
                task.run();
            } else {
                read = true;
                ctx.fireChannelRead(message);
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (read) {
                read = false;
                ctx.fireChannelReadComplete();
            }
        }

        @Override
        public void flush(ChannelHandlerContext ctx) {
            flushes++;
            ctx.flush();
        }
    }

    /** How often the server has flushed since the last call. */
    int takeFlushes() {
        int taken = flushes;
        flushes = 0;
        return taken;
    }

    /** The whole frames that have come since the last call. */
    List<Frame> frames() {
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            received.writeBytes(part);
            part.release();
        }
        List<Frame> frames = new ArrayList<>();
        while (received.readableBytes() >= HEAD
                && received.readableBytes() >= HEAD + received.getUnsignedMedium(received.readerIndex())) {
            int length = received.readUnsignedMedium();
            frames.add(new Frame(received.readUnsignedByte(), received.readUnsignedByte(), received.readInt(), length));
            received.skipBytes(length);
        }
        received.discardReadBytes();
        return frames;
    }

    @Override
    public void close() {
        headers.close();
        channel.finishAndReleaseAll();
    }
}
