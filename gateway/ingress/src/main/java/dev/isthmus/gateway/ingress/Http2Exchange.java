package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/** The request and response of one HTTP/2 stream. */
abstract class Http2Exchange {
    private final Http2Stream stream;
    private final Channel channel;
    private int withheld;

    Http2Exchange(Http2Stream stream, Channel channel) {
        this.stream = stream;
        this.channel = channel;
    }

    final Http2Stream stream() {
        return stream;
    }

    /** The same over any version of HTTP. */
    abstract HttpExchange exchange();

    /** What the stream waits for. */
    abstract PeerWait awaited();

    /** Begins the request. */
    final void open(Http2Head head) {
        exchange().open(head, channel);
    }

    /** Rejects the request before it becomes a call. */
    final void reject(OipException refusal) {
        exchange().reject(refusal);
    }

    /**
     * Receives the next part of the request.
     *
     * @param chunk taken
     */
    void data(ByteBuf chunk) {
        exchange().data(chunk);
    }

    /** Whether reading of the request is paused. */
    final boolean paused() {
        return exchange().paused();
    }

    /** The client timed out: responds with an error, if no response was sent. */
    final void timedOut(TimeoutRule rule) {
        exchange().timedOut(rule);
    }

    /** Fails the request with this error, if it has not ended. */
    final void failCall(OipException failure) {
        exchange().failCall(failure);
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

    /** The stream accepts more of the response. */
    final void writabilityChanged() {
        exchange().writabilityChanged();
    }

    /** The request is complete. */
    final void end() {
        exchange().end();
    }

    /** The response has been written, or never will be. */
    final void responseEnded() {
        exchange().written();
    }

    /** The stream is closed by either side; nothing can be written any more. No effect after the response. */
    final void cancel() {
        exchange().cancel();
    }
}
