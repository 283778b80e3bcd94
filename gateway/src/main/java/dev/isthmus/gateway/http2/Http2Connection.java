package dev.isthmus.gateway.http2;

import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/2 on one channel, in either role: the last handler of its pipeline, which gets bytes and writes bytes. It says
 * hello as soon as the channel is active. All methods are for the channel's event loop.
 */
@SuppressWarnings("DoNotCallSuggester")
public final class Http2Connection extends ChannelInboundHandlerAdapter {
    private Http2Connection() {}

    /**
     * The server's end.
     *
     * @param accept called for each request, before its head is delivered, gives the stream's listener
     */
    public static Http2Connection server(
            Http2Options options, Function<Http2Stream, StreamListener> accept, ConnectionListener listener) {
        throw new UnsupportedOperationException();
    }

    /** The client's end. */
    public static Http2Connection client(Http2Options options, ConnectionListener listener) {
        throw new UnsupportedOperationException();
    }

    /**
     * Opens a stream with a request's head.
     *
     * @return null where {@link #takesStreams} is false
     */
    public @Nullable Http2Stream open(Fields head, boolean end, StreamListener listener) {
        throw new UnsupportedOperationException();
    }

    /** Whether {@link #open} opens a stream: the channel is active, neither side goes away, the peer's limit is not met. */
    public boolean takesStreams() {
        throw new UnsupportedOperationException();
    }

    public int openStreams() {
        throw new UnsupportedOperationException();
    }

    /**
     * Asks the peer for a sign of life.
     *
     * @param answered called when it comes
     * @return false, and nothing is done, while an earlier one is unanswered or the connection is closed
     */
    public boolean ping(Runnable answered) {
        throw new UnsupportedOperationException();
    }

    /**
     * Takes no new streams, and closes the connection when the open ones have ended. A server first warns and goes on
     * taking what was on its way (RFC 9113, 6.8). How long that may take is the caller's matter: see {@link #close}.
     */
    public void goAway() {
        throw new UnsupportedOperationException();
    }

    /** Closes the connection at once, and all its streams with it. */
    public void close() {
        throw new UnsupportedOperationException();
    }
}
