package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Applies the frames that a {@link FrameReader} parses, whose layout was checked, to a connection and its streams (RFC
 * 9113, 5 and 6). Any frame may cause an {@link Http2Violation}.
 */
final class FrameHandler {
    /** DATA on a closed stream counts as a control frame if it has fewer bytes than this. */
    private static final int SMALL_DATA = 256;

    private final Http2Session session;
    private final Function<Http2Stream, StreamListener> accept;
    private final Http2Options options;
    private final boolean server;
    private final HeaderBlockDecoder blocks;
    private final PeerSettings settings;
    private @Nullable Http2Stream current;

    /** Bytes received on the connection since the last WINDOW_UPDATE. */
    private int unacknowledged;

    FrameHandler(Http2Session session, Function<Http2Stream, StreamListener> accept) {
        this.session = session;
        this.accept = accept;
        this.options = session.connection().options();
        this.server = session.connection().isServer();
        this.blocks = new HeaderBlockDecoder(options.maxHeaderBytes(), options.maxHeaderFields());
        this.settings = new PeerSettings(session, !server);
    }

    /** The memory that header blocks take which were decoded before, in bytes. */
    int remembered() {
        return blocks.held();
    }

    /** Whether it accepts more frames; checked before each. */
    boolean acceptsFrames() {
        return !session.isClosed();
    }

    void frameBegins(int type) {
        if (!settings.seen() && type != FrameType.SETTINGS) {
            throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "the first frame is not SETTINGS");
        }
        session.abuse().checkQueued();
    }

    /**
     * The header of a DATA frame.
     *
     * @param length of its payload, including padding
     */
    void dataBegins(int streamId, int length) {
        receivedOnConnection(length);
        Http2Stream stream = session.streams().get(streamId);
        current = stream;
        if (stream == null) {
            frameOnClosedStream(streamId, FrameType.DATA, length < SMALL_DATA);
        } else if (stream.is(StreamFlag.REMOTE_ENDED)) {
            session.streamError(stream, Http2Error.STREAM_CLOSED, "DATA after the end of the stream");
        } else if (!stream.is(StreamFlag.HEAD_SEEN)) {
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "DATA before the response headers");
        } else if (!stream.received(length)) {
            session.streamError(stream, Http2Error.FLOW_CONTROL_ERROR, "more DATA than the stream's window allows");
        }
    }

    private void receivedOnConnection(int length) {
        unacknowledged += length;
        if (unacknowledged > options.connectionWindow()) {
            throw new Http2Violation(Http2Error.FLOW_CONTROL_ERROR, "more DATA than the connection's window allows");
        }
        if (unacknowledged >= options.connectionWindow() / 2) {
            session.writer().windowUpdate(0, unacknowledged);
            session.flusher().schedule();
            unacknowledged = 0;
        }
    }

    /** The DATA frame has this many bytes of padding, including the length octet. */
    void padding(int bytes) {
        if (current != null) {
            current.consumed(bytes);
        }
    }

    /**
     * A part of the DATA frame that has begun. It is dropped if the stream is closed.
     *
     * @param part taken
     * @param end whether it ends the stream
     */
    void data(ByteBuf part, boolean end) {
        Http2Stream stream = current;
        int length = part.readableBytes();
        if (stream == null || stream.is(StreamFlag.CLOSED)) {
            part.release();
            return;
        }
        if (!stream.bodyPart(length, end)) {
            part.release();
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "the body's length differs from its content-length");
            return;
        }
        if (length == 0 && !end) {
            part.release();
            session.abuse().control();
            return;
        }
        session.abuse().progress();
        deliver(stream, part, end);
    }

    private void deliver(Http2Stream stream, ByteBuf part, boolean end) {
        if (end) {
            stream.set(StreamFlag.REMOTE_ENDED);
        }
        try {
            stream.listener().data(part, end);
        } catch (RuntimeException | OutOfMemoryError e) {
            session.listenerFailed(stream, e);
        }
        if (end) {
            session.remoteEnded(stream);
        }
    }

    /**
     * A whole header block.
     *
     * @param in borrowed; the block begins at its reader index, which may change
     */
    void headers(int streamId, ByteBuf in, int length, boolean end) {
        HeaderBlock block = blocks.decode(streamId, in, length);
        Http2Stream stream = session.streams().get(streamId);
        if (stream != null) {
            furtherHeaders(stream, block, end);
        } else if (server && (streamId & 1) == 1 && session.streams().idle(streamId)) {
            request(streamId, block, length, end);
            if (length > Http2Options.DEFAULT_FRAME_SIZE) {
                // This request is refused; the connection closes when the other streams have ended.
                session.shutdown().goAway(Http2Error.FRAME_SIZE_ERROR);
            }
        } else {
            frameOnClosedStream(streamId, FrameType.HEADERS, true);
        }
    }

    private void request(int streamId, HeaderBlock block, int length, boolean end) {
        session.streams().openedByPeer(streamId);
        if (!session.shutdown().acceptsPeerStreams()) {
            // The client learns it from the GOAWAY.
            session.streams().rememberReset(streamId);
            session.abuse().control();
        } else if (session.streams().size() >= options.maxConcurrentStreams()) {
            session.writeReset(streamId, Http2Error.REFUSED_STREAM.code());
            session.abuse().control();
        } else if (block.use() == HeaderBlock.MessageKind.TOO_LARGE) {
            session.abuse().error();
            accept(streamId, block, length, end);
        } else if (block.use() != HeaderBlock.MessageKind.REQUEST) {
            session.writeReset(streamId, Http2Error.PROTOCOL_ERROR.code());
            session.abuse().error();
        } else {
            accept(streamId, block, length, end);
        }
    }

    private void accept(int streamId, HeaderBlock block, int length, boolean end) {
        Http2Stream stream = session.newStream(streamId);
        stream.headLength(length);
        if (block.use() == HeaderBlock.MessageKind.TOO_LARGE) {
            stream.set(StreamFlag.HEAD_TOO_LARGE);
        }
        session.abuse().progress();
        try {
            stream.listener(accept.apply(stream));
        } catch (RuntimeException | OutOfMemoryError e) {
            session.listenerFailed(stream, e);
        }
        if (!stream.is(StreamFlag.CLOSED)) {
            head(stream, block, end);
        }
    }

    /** Header fields on an open stream: the head of a response, or trailers. */
    private void furtherHeaders(Http2Stream stream, HeaderBlock block, boolean end) {
        boolean trailers = stream.is(StreamFlag.HEAD_SEEN);
        HeaderBlock.MessageKind expected =
                trailers ? HeaderBlock.MessageKind.TRAILERS : HeaderBlock.MessageKind.RESPONSE;
        if (stream.is(StreamFlag.REMOTE_ENDED)) {
            session.streamError(stream, Http2Error.STREAM_CLOSED, "HEADERS after the end of the stream");
        } else if (block.use() == HeaderBlock.MessageKind.TOO_LARGE) {
            session.streamError(stream, Http2Error.ENHANCE_YOUR_CALM, "header fields exceed the limit");
        } else if (block.use() != expected) {
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "malformed or unexpected header fields");
        } else if (trailers ? !end : end && block.interim()) {
            session.streamError(
                    stream, Http2Error.PROTOCOL_ERROR, "trailers without END_STREAM, or an interim response with it");
        } else if (trailers && !stream.bodyPart(0, true)) {
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "the body is shorter than its content-length");
        } else if (trailers) {
            deliverHeaders(stream, block, true);
        } else if (block.interim() && !stream.interimResponse()) {
            session.streamError(stream, Http2Error.ENHANCE_YOUR_CALM, "too many interim responses");
        } else if (block.interim()) {
            session.abuse().control();
        } else {
            head(stream, block, end);
        }
    }

    private void head(Http2Stream stream, HeaderBlock block, boolean end) {
        stream.set(StreamFlag.HEAD_SEEN);
        if (server && end && block.contentLength() > 0) {
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "a content-length above 0 without a body");
            return;
        }
        stream.expect(block.contentLength());
        deliverHeaders(stream, block, end);
    }

    private void deliverHeaders(Http2Stream stream, HeaderBlock block, boolean end) {
        if (end) {
            stream.set(StreamFlag.REMOTE_ENDED);
        }
        try {
            stream.listener().headers(block.headers(), end);
        } catch (RuntimeException | OutOfMemoryError e) {
            session.listenerFailed(stream, e);
        }
        if (end) {
            session.remoteEnded(stream);
        }
    }

    /**
     * A frame on a stream that is not open. Not an error if the peer may not yet know that we reset the stream, nor if
     * a server sends trailers twice, as Triton does when a call's deadline has expired.
     */
    private void frameOnClosedStream(int streamId, int type, boolean cheap) {
        checkUsed(streamId, type);
        if (server && session.streams().wasResetByPeer(streamId)) {
            session.writeReset(streamId, Http2Error.STREAM_CLOSED.code());
            session.abuse().control();
            return;
        }
        if (server && !session.streams().wasReset(streamId)) {
            throw new Http2Violation(Http2Error.STREAM_CLOSED, "a frame of type " + type + " on a closed stream");
        }
        if (cheap) {
            session.abuse().control();
        }
    }

    private void checkUsed(int streamId, int type) {
        if (session.streams().idle(streamId)) {
            throw new Http2Violation(
                    Http2Error.PROTOCOL_ERROR, "a frame of type " + type + " on the idle stream " + streamId);
        }
    }

    void reset(int streamId, long errorCode) {
        Http2Stream stream = session.streams().get(streamId);
        if (stream == null) {
            checkUsed(streamId, FrameType.RST_STREAM);
            session.abuse().control();
            return;
        }
        boolean refused = errorCode == Http2Error.REFUSED_STREAM.code() && !stream.is(StreamFlag.HEAD_SEEN);
        StreamEnd.Cause kind = refused ? StreamEnd.Cause.REFUSED : StreamEnd.Cause.RESET;
        session.streams().rememberResetByPeer(streamId);
        session.abort(stream, new StreamEnd(kind, errorCode, null));
        if (server && stream.is(StreamFlag.LOCAL_ENDED)) {
            session.abuse().control();
        } else if (!stream.is(StreamFlag.DATA_SENT)) {
            session.abuse().reset();
        }
    }

    /**
     * The peer's settings.
     *
     * @param in borrowed; they begin at its reader index, which may change
     */
    void settings(ByteBuf in, int length) {
        boolean first = !settings.seen();
        // Each setting may be costly to apply: the window of every stream, the table of header fields.
        session.abuse().control(1 + length / PeerSettings.BYTES_EACH);
        settings.read(in, length);
        session.countQueuedFrame();
        session.writer().settingsAck();
        session.flusher().schedule();
        if (first) {
            session.connection().listener().ready();
        } else {
            session.connection().listener().streamClosed();
        }
    }

    void settingsAck() {
        session.abuse().control();
    }

    void ping(boolean ack, long payload) {
        session.abuse().control();
        if (ack) {
            session.shutdown().pingAcknowledged(payload);
        } else {
            session.countQueuedFrame();
            session.writer().ping(true, payload);
            session.flusher().schedule();
        }
    }

    void goAway(int lastStreamId, long errorCode) {
        session.abuse().control();
        session.shutdown().goAwayReceived(lastStreamId, errorCode);
    }

    /**
     * The peer increases a window.
     *
     * @param streamId 0 for the connection
     */
    void windowUpdate(int streamId, int increment) {
        session.abuse().control();
        if (streamId == 0) {
            if (increment == 0) {
                throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "WINDOW_UPDATE with an increment of 0");
            }
            session.sender().peerWindow(increment);
            return;
        }
        Http2Stream stream = session.streams().get(streamId);
        if (stream == null) {
            checkUsed(streamId, FrameType.WINDOW_UPDATE);
        } else if (increment == 0) {
            session.streamError(stream, Http2Error.PROTOCOL_ERROR, "WINDOW_UPDATE with an increment of 0");
        } else if (!session.sender().peerWindow(stream, increment)) {
            session.streamError(
                    stream, Http2Error.FLOW_CONTROL_ERROR, "WINDOW_UPDATE makes a stream's window too large");
        }
    }

    /** A frame that is ignored: PRIORITY, or one of an unknown type. */
    void ignored() {
        session.abuse().control();
    }
}
