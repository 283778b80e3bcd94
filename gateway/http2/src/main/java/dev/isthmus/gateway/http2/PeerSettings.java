package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;

/** Reads the peer's SETTINGS (RFC 9113, 6.5.2). */
final class PeerSettings {
    /** Length of one setting in bytes. */
    static final int BYTES_EACH = 6;

    static final int HEADER_TABLE_SIZE = 1;
    static final int ENABLE_PUSH = 2;
    static final int MAX_CONCURRENT_STREAMS = 3;
    static final int INITIAL_WINDOW_SIZE = 4;
    static final int MAX_FRAME_SIZE = 5;
    static final int MAX_HEADER_LIST_SIZE = 6;

    private final Http2Session session;
    private final boolean peerIsServer;
    private boolean seen;

    PeerSettings(Http2Session session, boolean peerIsServer) {
        this.session = session;
        this.peerIsServer = peerIsServer;
    }

    /** Whether the first SETTINGS were received; they must be the first frame (RFC 9113, 3.4). */
    boolean seen() {
        return seen;
    }

    void read(ByteBuf in, int length) {
        for (int rest = length; rest > 0; rest -= BYTES_EACH) {
            apply(in.readUnsignedShort(), in.readUnsignedInt());
        }
        seen = true;
    }

    private void apply(int setting, long value) {
        switch (setting) {
            case HEADER_TABLE_SIZE -> session.writer().encoder().peerTableSize(value);
            case ENABLE_PUSH ->
                require(value == 0 || (value == 1 && !peerIsServer), Http2Error.PROTOCOL_ERROR, setting);
            case MAX_CONCURRENT_STREAMS -> session.streams().peerLimit(value);
            case INITIAL_WINDOW_SIZE -> {
                require(value <= Integer.MAX_VALUE, Http2Error.FLOW_CONTROL_ERROR, setting);
                session.sender().peerStreamWindow((int) value);
            }
            case MAX_FRAME_SIZE -> {
                boolean allowed = value >= Http2Options.DEFAULT_FRAME_SIZE && value <= Http2Options.MAX_FRAME_SIZE;
                require(allowed, Http2Error.PROTOCOL_ERROR, setting);
                session.sender().peerFrameSize((int) value);
            }
            default -> {
                // MAX_HEADER_LIST_SIZE is advice, and unknown settings are ignored.
            }
        }
    }

    private static void require(boolean allowed, Http2Error error, int setting) {
        if (!allowed) {
            throw new Http2Violation(error, "invalid value of setting " + setting);
        }
    }
}
