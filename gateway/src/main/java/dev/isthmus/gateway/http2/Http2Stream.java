package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;

/**
 * One request and its response. All methods are for the event loop of the connection; once the stream has ended they
 * are without effect (buffers are released).
 */
@SuppressWarnings("DoNotCallSuggester")
public final class Http2Stream {
    private final Http2Connection connection;
    private final int id;

    Http2Stream(Http2Connection connection, int id) {
        this.connection = connection;
        this.id = id;
    }

    public Http2Connection connection() {
        return connection;
    }

    public int id() {
        return id;
    }

    /**
     * Sends header fields: of a response the head, then, with {@code end}, trailers. They go out after all data given
     * before.
     *
     * @param end whether nothing more is sent. A server that ends a response before the request has ended makes the
     *     client stop it (RST_STREAM with NO_ERROR; RFC 9113, 8.1)
     */
    public void headers(Fields fields, boolean end) {
        throw new UnsupportedOperationException();
    }

    /**
     * Sends a part of the body. What the peer's windows or the socket do not take at once is queued.
     *
     * @param data taken; of any size and any number of components
     */
    public void data(ByteBuf data, boolean end) {
        throw new UnsupportedOperationException();
    }

    /** Whether little is queued and the socket takes more. If not, the listener hears when that changes. */
    public boolean writable() {
        throw new UnsupportedOperationException();
    }

    /** Lets the peer send as many bytes more as were received. */
    public void consumed(int bytes) {
        throw new UnsupportedOperationException();
    }

    /** Ends the stream at once in both directions (RST_STREAM); what is queued is dropped, the listener hears no more. */
    public void reset(long errorCode) {
        throw new UnsupportedOperationException();
    }
}
