package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.http2.RawFrames;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;

/**
 * An HTTP/2 client that sees every frame and every flush. Its connection is not a socket, and its loop runs only on
 * request.
 */
final class EmbeddedHttp2Client implements AutoCloseable {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private int flushes;

    /**
     * Sends the preface.
     *
     * @param settings the client's settings, identifiers and values alternating
     */
    EmbeddedHttp2Client(ListenerContext entry, int... settings) {
        // Lets only the number of frames determine the turns in which a read is processed.
        channel.freezeTime();
        channel.pipeline().addLast(new Edge()).addLast(new IngressPipelines(entry));
        receive(Unpooled.wrappedBuffer(RawFrames.preface(), RawFrames.settings(settings)));
        frames();
    }

    /** Grants the server this many more bytes on the connection. */
    void openWindow(int bytes) {
        receive(RawFrames.windowUpdate(0, bytes));
    }

    /** The frames of a call with one message. */
    static ByteBuf call(int stream, String method, byte[] message) {
        ByteBuf data = Unpooled.buffer(message.length + 5)
                .writeByte(0)
                .writeInt(message.length)
                .writeBytes(message);
        return Unpooled.wrappedBuffer(RawFrames.call(stream, method), RawFrames.data(stream, data, true));
    }

    /** Makes the server read this now, and runs the tasks that follow. */
    void receive(ByteBuf bytes) {
        // As socket reads: direct and contiguous.
        ByteBuf read = channel.alloc().directBuffer(bytes.readableBytes()).writeBytes(bytes);
        bytes.release();
        channel.writeInbound(read);
        channel.checkException();
    }

    /** Runs this on the server's loop, in a turn without a read, and the tasks that follow. */
    void turn(Runnable task) {
        // Outside of a read, an embedded channel would run deferred tasks at every write.
        channel.writeInbound(task);
        channel.checkException();
    }

    /** Stands in for the socket. */
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

    /** Number of flushes by the server since the last call. */
    int takeFlushes() {
        int taken = flushes;
        flushes = 0;
        return taken;
    }

    /** The frames received since the last call. */
    List<RawFrame> frames() {
        return RawFrames.frames(RawFrames.written(channel));
    }

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }
}
