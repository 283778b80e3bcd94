package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.RawFrame;
import dev.isthmus.gateway.http2.RawFrames;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;

/** A client of HTTP/2 that sees every frame and every flush; its connection is no socket, and its loop runs when told to. */
final class EmbeddedHttp2Client implements AutoCloseable {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private int flushes;

    /**
     * Says hello.
     *
     * @param settings what the client announces, identifiers and values in turn
     */
    EmbeddedHttp2Client(ListenerContext entry, int... settings) {
        channel.pipeline().addLast(new Edge()).addLast(new IngressPipelines(entry));
        receive(Unpooled.wrappedBuffer(RawFrames.preface(), RawFrames.settings(settings)));
        frames();
    }

    /** Lets the server send so many bytes more on the connection. */
    void openWindow(int bytes) {
        receive(RawFrames.windowUpdate(0, bytes));
    }

    /** The frames of a call of one message. */
    static ByteBuf call(int stream, String method, byte[] message) {
        ByteBuf data = Unpooled.buffer(message.length + 5)
                .writeByte(0)
                .writeInt(message.length)
                .writeBytes(message);
        return Unpooled.wrappedBuffer(RawFrames.call(stream, method), RawFrames.data(stream, data, true));
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

    /** The frames that have come since the last call. */
    List<RawFrame> frames() {
        return RawFrames.frames(RawFrames.written(channel));
    }

    @Override
    public void close() {
        channel.finishAndReleaseAll();
    }
}
