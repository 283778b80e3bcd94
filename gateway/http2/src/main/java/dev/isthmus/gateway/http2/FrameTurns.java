package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.Turn;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Has the frames of what was read handled a {@link Turn} at a time. What is left over is kept, and meanwhile the socket is
 * not read.
 */
final class FrameTurns {
    private final Http2Session session;
    private final ChannelHandlerContext ctx;
    private final Turn turn;
    private final FrameReader reader;
    /** What is left over, and what was read nevertheless. */
    private final Deque<ByteBuf> rest = new ArrayDeque<>(0);

    private long turns;

    FrameTurns(Http2Session session, ChannelHandlerContext ctx, FrameSink sink) {
        this.session = session;
        this.ctx = ctx;
        this.turn = new Turn(ctx.executor(), this::goOn);
        Http2Connection connection = session.connection();
        Http2Options options = connection.options();
        this.reader = new FrameReader(
                sink,
                turn,
                connection.isServer(),
                options.maxFrameSize(),
                HeaderBlockDecoder.MOST_ENCODED * options.maxHeaderBytes());
    }

    FrameReader reader() {
        return reader;
    }

    /** Changes whenever something was read, or what was left over is handled. */
    long count() {
        return turns;
    }

    /**
     * Something was read; {@link #readComplete} follows.
     *
     * @param in taken
     */
    void read(ByteBuf in) {
        turns++;
        if (session.isClosed()) {
            in.release();
        } else if (rest.isEmpty()) {
            session.flusher().reading();
            handle(in);
            if (!rest.isEmpty()) {
                ctx.channel().config().setAutoRead(false);
            }
        } else {
            rest.add(in);
        }
    }

    void readComplete() {
        turn.readComplete();
        session.flusher().readComplete();
    }

    private void goOn() {
        if (rest.isEmpty()) {
            return;
        }
        turns++;
        session.flusher().reading();
        try {
            while (!rest.isEmpty() && !turn.over()) {
                handle(rest.remove());
            }
        } finally {
            session.flusher().readComplete();
            if (rest.isEmpty() && ctx.channel().isActive()) {
                ctx.channel().config().setAutoRead(true);
            }
        }
    }

    /** Takes the buffer, and keeps what is left over of it. */
    private void handle(ByteBuf in) {
        boolean left = false;
        try {
            reader.read(in);
            left = in.isReadable() && !session.isClosed();
        } catch (Http2Violation violation) {
            session.fail(violation);
        } finally {
            if (left) {
                rest.addFirst(in);
            } else {
                in.release();
            }
        }
    }

    /** The channel is closed: what a server has sent by then counts at once, while a client that has gone wants nothing. */
    void channelClosed() {
        while (!rest.isEmpty()) {
            if (session.connection().isServer()) {
                rest.remove().release();
            } else {
                turn.begin();
                handle(rest.remove());
            }
        }
    }

    /** Nothing more comes. */
    void release() {
        reader.release();
    }
}
