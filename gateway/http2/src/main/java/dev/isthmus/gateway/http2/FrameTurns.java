package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.Turn;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Handles received frames one {@link Turn} at a time. Buffers left over at the end of a turn are queued, and the socket
 * is not read until they have been handled. A stream whose data takes more than the turn goes on in a later one;
 * frames and such streams come first alternately, so that neither waits for all of the other.
 */
final class FrameTurns {
    private final Http2Session session;
    private final ChannelHandlerContext ctx;
    private final Turn turn;
    private final FrameHandler handler;
    private final FrameReader reader;
    /** Buffers left over, followed by those read since. */
    private final Deque<ByteBuf> rest = new ArrayDeque<>(0);
    /** Work that streams left over. */
    private final Deque<Runnable> streams = new ArrayDeque<>(0);

    private boolean streamsFirst;

    private long turns;

    FrameTurns(Http2Session session, ChannelHandlerContext ctx, FrameHandler handler) {
        this.session = session;
        this.handler = handler;
        this.ctx = ctx;
        this.turn = new Turn(ctx.executor(), this::handleRest);
        Http2Connection connection = session.connection();
        Http2Options options = connection.options();
        this.reader = new FrameReader(
                handler,
                turn,
                connection.isServer(),
                options.maxFrameSize(),
                HeaderBlockDecoder.mostEncoded(options, connection.isServer()));
    }

    FrameReader reader() {
        return reader;
    }

    Turn turn() {
        return turn;
    }

    /** Runs the task in the next turn; the present one is over. */
    void inNextTurn(Runnable task) {
        streams.add(task);
    }

    /** The memory that header blocks take which were decoded before, in bytes. */
    int remembered() {
        return handler.remembered();
    }

    /** The number of reads and of turns that handled left-over buffers. */
    long count() {
        return turns;
    }

    /**
     * Handles a buffer that was read; {@link #readComplete} follows.
     *
     * @param in taken
     */
    void read(ByteBuf in) {
        turns++;
        if (session.isClosed()) {
            in.release();
        } else if (rest.isEmpty()) {
            session.flusher().readBegins();
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

    private void handleRest() {
        if (rest.isEmpty() && streams.isEmpty()) {
            return;
        }
        turns++;
        streamsFirst = !streamsFirst;
        session.flusher().readBegins();
        try {
            if (streamsFirst) {
                handleStreams();
                handleBuffers();
            } else {
                handleBuffers();
                handleStreams();
            }
        } finally {
            session.flusher().readComplete();
            if (rest.isEmpty() && ctx.channel().isActive()) {
                ctx.channel().config().setAutoRead(true);
            }
        }
    }

    private void handleBuffers() {
        while (!rest.isEmpty() && !turn.over()) {
            handle(rest.remove());
        }
    }

    private void handleStreams() {
        while (!streams.isEmpty() && !turn.over()) {
            streams.remove().run();
        }
    }

    /** Takes the buffer; queues it if the turn ends before all of it was read. */
    private void handle(ByteBuf in) {
        boolean left = false;
        try {
            reader.read(in);
            left = in.isReadable() && !session.isClosed();
        } catch (Http2Violation violation) {
            session.connectionError(violation);
            // The connection may linger.
            reader.release();
        } finally {
            if (left) {
                rest.addFirst(in);
            } else {
                in.release();
            }
        }
    }

    /**
     * The channel is closed. A server drops queued buffers: the client is gone. A client still reads the response in
     * them.
     */
    void channelClosed() {
        streams.clear();
        while (!rest.isEmpty()) {
            if (session.connection().isServer()) {
                rest.remove().release();
            } else {
                turn.begin();
                handle(rest.remove());
            }
        }
    }

    /** Releases partial frames; nothing may be read afterwards. */
    void release() {
        reader.release();
    }
}
