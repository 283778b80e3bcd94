package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.Http2Stream;
import io.netty.buffer.ByteBuf;

/** The request and response of one HTTP/2 stream. */
abstract class Http2Exchange {
    private final Http2Stream stream;
    private int withheld;

    Http2Exchange(Http2Stream stream) {
        this.stream = stream;
    }

    final Http2Stream stream() {
        return stream;
    }

    /** This exchange, as one over any version of HTTP. */
    abstract HttpExchange exchange();

    /**
     * Receives the next part of the request.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk) {
        exchange().data(chunk);
    }

    /** Withholds the flow-control credit of this many bytes until the request is read again. */
    final void withheld(int bytes) {
        withheld += bytes;
    }

    /** Resumes reading of the request: gives the withheld credit. */
    public final void resumeRequest() {
        int bytes = withheld;
        if (bytes > 0) {
            withheld = 0;
            stream.consumed(bytes);
        }
    }

    /** Bytes of the response that were written and not sent yet. */
    public final long queued() {
        return stream.queued();
    }

    /** Whether writes are sent immediately. */
    public final boolean isWritable() {
        return stream.isWritable();
    }
}
