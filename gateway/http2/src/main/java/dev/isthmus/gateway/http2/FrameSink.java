package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;

/** Takes the frames that a {@link FrameReader} finds; their own form has been checked. Any method may throw {@link Http2Violation}. */
interface FrameSink {

    /** Whether more frames are wanted; asked before each. */
    boolean takes();

    /** A frame of this type begins. */
    void begins(int type);

    /**
     * The head of a DATA frame.
     *
     * @param length of its payload, padding included
     * @return whether the payload is wanted; if not, it is skipped
     */
    boolean dataBegins(int streamId, int length);

    /** So many bytes of the DATA frame are padding and its length. */
    void padded(int bytes);

    /**
     * A part of the DATA frame that has begun.
     *
     * @param part taken
     * @param end whether it is the stream's last
     */
    void data(ByteBuf part, boolean end);

    /**
     * A whole header block.
     *
     * @param in borrowed, the block is at its reader index; indices need not be kept
     */
    void headers(int streamId, ByteBuf in, int length, boolean end);

    void reset(int streamId, long errorCode);

    /**
     * The peer's settings.
     *
     * @param in borrowed, the settings are at its reader index; indices need not be kept
     */
    void settings(ByteBuf in, int length);

    void settingsAck();

    void ping(boolean ack, long payload);

    void goAway(int lastStreamId, long errorCode);

    /**
     * A window grows.
     *
     * @param streamId 0 for the connection
     */
    void windowUpdate(int streamId, int increment);

    /** A frame that means nothing to us: PRIORITY, or of a type we do not know. */
    void ignored();
}
