package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;

/**
 * Receives the frames that a {@link FrameReader} parses; their layout has been checked. Any method may throw
 * {@link Http2Violation}.
 */
interface FrameSink {

    /** Whether the sink accepts more frames; checked before each. */
    boolean acceptsFrames();

    void frameBegins(int type);

    /**
     * The header of a DATA frame.
     *
     * @param length of its payload, including padding
     * @return whether to deliver the payload; if false, it is skipped
     */
    boolean dataBegins(int streamId, int length);

    /** The DATA frame has this many bytes of padding, including the length octet. */
    void padding(int bytes);

    /**
     * A part of the DATA frame that has begun.
     *
     * @param part taken
     * @param end whether it ends the stream
     */
    void data(ByteBuf part, boolean end);

    /**
     * A whole header block.
     *
     * @param in borrowed; the block begins at its reader index; the sink may change the indices
     */
    void headers(int streamId, ByteBuf in, int length, boolean end);

    void reset(int streamId, long errorCode);

    /**
     * The peer's settings.
     *
     * @param in borrowed; the settings begin at its reader index; the sink may change the indices
     */
    void settings(ByteBuf in, int length);

    void settingsAck();

    void ping(boolean ack, long payload);

    void goAway(int lastStreamId, long errorCode);

    /**
     * The peer increases a window.
     *
     * @param streamId 0 for the connection
     */
    void windowUpdate(int streamId, int increment);

    /** A frame that is ignored: PRIORITY, or one of an unknown type. */
    void ignored();
}
