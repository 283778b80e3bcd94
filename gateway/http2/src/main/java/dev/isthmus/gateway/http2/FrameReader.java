package dev.isthmus.gateway.http2;

import static dev.isthmus.gateway.http2.FrameType.ACK;
import static dev.isthmus.gateway.http2.FrameType.CONTINUATION;
import static dev.isthmus.gateway.http2.FrameType.DATA;
import static dev.isthmus.gateway.http2.FrameType.END_HEADERS;
import static dev.isthmus.gateway.http2.FrameType.END_STREAM;
import static dev.isthmus.gateway.http2.FrameType.GOAWAY;
import static dev.isthmus.gateway.http2.FrameType.HEADERS;
import static dev.isthmus.gateway.http2.FrameType.PADDED;
import static dev.isthmus.gateway.http2.FrameType.PING;
import static dev.isthmus.gateway.http2.FrameType.PRIORITY;
import static dev.isthmus.gateway.http2.FrameType.PUSH_PROMISE;
import static dev.isthmus.gateway.http2.FrameType.RST_STREAM;
import static dev.isthmus.gateway.http2.FrameType.SETTINGS;
import static dev.isthmus.gateway.http2.FrameType.WINDOW_UPDATE;
import static dev.isthmus.gateway.http2.FrameType.WITH_PRIORITY;

import dev.isthmus.gateway.net.Turn;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Parses frames in place, in the buffers read from the socket. DATA is delivered as slices as it arrives. Copied are
 * only frame headers, and frames other than DATA, that are split across reads.
 */
final class FrameReader {
    private final FrameHandler handler;
    private final Turn turn;
    private final int maxFrameSize;
    private final int maxOther;
    private final PartialFrame partial = new PartialFrame();
    private final HeaderBlockAssembler parts;
    private final FrameHeader head = new FrameHeader();
    private ReaderState state;
    private int remaining;
    private int padding;
    /** Frames that have begun, without CONTINUATION. */
    private long begun;

    private enum ReaderState {
        PREFACE,
        HEAD,
        PAYLOAD,
        PAD_LENGTH,
        DATA,
        SKIP
    }

    /**
     * A reader for one connection.
     *
     * @param turn charged for each frame
     * @param preface whether the peer sends the client connection preface
     * @param maxFrameSize our SETTINGS_MAX_FRAME_SIZE, in bytes
     * @param maxHeaderBlock limit of an encoded header block, in bytes
     */
    FrameReader(FrameHandler handler, Turn turn, boolean preface, int maxFrameSize, int maxHeaderBlock) {
        this.handler = handler;
        this.turn = turn;
        this.state = preface ? ReaderState.PREFACE : ReaderState.HEAD;
        this.maxFrameSize = maxFrameSize;
        this.maxOther = Math.max(Http2Options.DEFAULT_FRAME_SIZE, maxHeaderBlock);
        this.parts = new HeaderBlockAssembler(maxHeaderBlock);
    }

    /**
     * Reads until the buffer is empty, the turn is over, or no more frames are accepted.
     *
     * @param in borrowed
     */
    void read(ByteBuf in) {
        while (in.isReadable() && !turn.over() && handler.acceptsFrames()) {
            switch (state) {
                case PREFACE -> preface(in);
                case HEAD -> head(in);
                case PAYLOAD -> payload(in);
                case PAD_LENGTH -> padLength(in);
                case DATA -> data(in);
                case SKIP -> skip(in);
            }
        }
    }

    /** Whether a preface, a frame other than DATA, or a header block is incomplete. */
    boolean incomplete() {
        return state == ReaderState.PREFACE || state == ReaderState.PAYLOAD || partial.holds() || parts.open();
    }

    /** The memory that incomplete frames and header blocks take, in bytes. */
    int held() {
        return partial.capacity() + parts.capacity();
    }

    /** The number of frames that have begun, without CONTINUATION. */
    long framesBegun() {
        return begun;
    }

    void release() {
        partial.release();
        parts.release();
    }

    private void preface(ByteBuf in) {
        ByteBuf expected = Http2CodecUtil.connectionPrefaceBuf();
        while (in.isReadable() && remaining < expected.readableBytes()) {
            if (in.readByte() != expected.getByte(remaining)) {
                throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "invalid connection preface");
            }
            remaining++;
        }
        if (remaining == expected.readableBytes()) {
            state = ReaderState.HEAD;
            remaining = 0;
        }
    }

    private void head(ByteBuf in) {
        ByteBuf from = partial.gather(in, FrameType.HEAD);
        if (from == null) {
            return;
        }
        head.read(from);
        partial.release();
        turn.took();
        if (head.length > maxFrameSize) {
            throw new Http2Violation(
                    Http2Error.FRAME_SIZE_ERROR, "a frame of " + head.length + " bytes, the limit is " + maxFrameSize);
        }
        parts.check(head.type, head.streamId);
        handler.frameBegins(head.type);
        if (head.type != CONTINUATION) {
            begun++;
        }
        if (head.type == DATA) {
            beginData();
        } else if (head.type > CONTINUATION) {
            handler.ignored();
            skipPayload(head.length);
        } else {
            beginOther(in);
        }
    }

    private void beginOther(ByteBuf in) {
        head.checkForm();
        if (head.length > maxOther) {
            throw new Http2Violation(
                    AbuseRule.HEADER_BLOCK,
                    "a frame of type " + head.type + " and " + head.length + " bytes, the limit is " + maxOther);
        }
        if (head.length == 0) {
            frame(in);
            state = ReaderState.HEAD;
        } else {
            state = ReaderState.PAYLOAD;
        }
    }

    private void payload(ByteBuf in) {
        ByteBuf from = partial.gather(in, head.length);
        if (from == null) {
            return;
        }
        int end = from.readerIndex() + head.length;
        state = ReaderState.HEAD;
        frame(from);
        from.readerIndex(end);
        partial.release();
    }

    private void frame(ByteBuf in) {
        switch (head.type) {
            case HEADERS -> headers(in);
            case CONTINUATION -> continuation(in);
            case RST_STREAM -> handler.reset(head.streamId, in.readUnsignedInt());
            case SETTINGS -> settings(in);
            case PING -> handler.ping(head.has(ACK), in.readLong());
            case GOAWAY -> handler.goAway(in.readInt() & Integer.MAX_VALUE, in.readUnsignedInt());
            case WINDOW_UPDATE -> handler.windowUpdate(head.streamId, in.readInt() & Integer.MAX_VALUE);
            case PRIORITY -> {
                priority(in);
                handler.ignored();
            }
            case PUSH_PROMISE ->
                throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "PUSH_PROMISE, but push is disabled");
            default -> throw new IllegalStateException("frame type " + head.type);
        }
    }

    private void settings(ByteBuf in) {
        if (head.has(ACK)) {
            handler.settingsAck();
        } else {
            handler.settings(in, head.length);
        }
    }

    private void headers(ByteBuf in) {
        int length = head.length;
        int padded = 0;
        if (head.has(PADDED)) {
            padded = in.readUnsignedByte();
            length--;
        }
        if (head.has(WITH_PRIORITY)) {
            priority(in);
            length -= 5;
        }
        length -= padded;
        if (length < 0) {
            throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "HEADERS: more padding than payload");
        }
        if (head.has(END_HEADERS)) {
            handler.headers(head.streamId, in, length, head.has(END_STREAM));
        } else {
            parts.begin(head.streamId, head.has(END_STREAM), in, length);
        }
    }

    /** Priorities are ignored (RFC 9113, 5.3.2), but a stream that depends on itself is an error (RFC 7540, 5.3.1). */
    private void priority(ByteBuf in) {
        if ((in.readInt() & Integer.MAX_VALUE) == head.streamId) {
            throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "stream " + head.streamId + " depends on itself");
        }
        in.skipBytes(Byte.BYTES);
    }

    private void continuation(ByteBuf in) {
        parts.add(in, head.length);
        if (head.has(END_HEADERS)) {
            parts.finish(handler);
        }
    }

    private void beginData() {
        head.checkForm();
        handler.dataBegins(head.streamId, head.length);
        if (head.has(PADDED)) {
            state = ReaderState.PAD_LENGTH;
        } else {
            beginBody(head.length, 0);
        }
    }

    private void padLength(ByteBuf in) {
        int pad = in.readUnsignedByte();
        if (pad >= head.length) {
            throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "DATA: more padding than payload");
        }
        handler.padding(pad + 1);
        beginBody(head.length - 1 - pad, pad);
    }

    private void beginBody(int length, int pad) {
        if (length == 0) {
            handler.data(Unpooled.EMPTY_BUFFER, head.has(END_STREAM));
            skipPayload(pad);
        } else {
            remaining = length;
            padding = pad;
            state = ReaderState.DATA;
        }
    }

    private void data(ByteBuf in) {
        int length = Math.min(remaining, in.readableBytes());
        remaining -= length;
        boolean last = remaining == 0;
        if (last) {
            skipPayload(padding);
        }
        handler.data(in.readRetainedSlice(length), last && head.has(END_STREAM));
    }

    private void skipPayload(int bytes) {
        remaining = bytes;
        state = bytes == 0 ? ReaderState.HEAD : ReaderState.SKIP;
    }

    private void skip(ByteBuf in) {
        int length = Math.min(remaining, in.readableBytes());
        in.skipBytes(length);
        skipPayload(remaining - length);
    }

    /** Collects the bytes of a frame, or of a frame header, that is split across reads. */
    private static final class PartialFrame {
        private @Nullable ByteBuf bytes;

        /**
         * A buffer with {@code wanted} contiguous readable bytes: {@code in}, or a copy if earlier reads brought some of
         * them.
         *
         * @param in borrowed
         * @return borrowed; null if more bytes are needed
         */
        @Nullable
        ByteBuf gather(ByteBuf in, int wanted) {
            ByteBuf held = bytes;
            int part = Math.min(wanted - (held == null ? 0 : held.readableBytes()), in.readableBytes());
            if (held == null) {
                if (in.readableBytes() >= wanted) {
                    return in;
                }
                // As large as what arrives, not as what is announced.
                held = Unpooled.buffer(in.readableBytes(), wanted);
                bytes = held;
            }
            in.readBytes(held.ensureWritable(part), part);
            return held.readableBytes() == wanted ? held : null;
        }

        /** Whether bytes of an earlier read are held. */
        boolean holds() {
            return bytes != null;
        }

        /** The memory that is held, in bytes. */
        int capacity() {
            return bytes == null ? 0 : bytes.capacity();
        }

        /** The buffer returned by {@link #gather} was read, or is no longer needed. */
        void release() {
            if (bytes != null) {
                bytes.release();
                bytes = null;
            }
        }
    }

    /** Assembles a header block from HEADERS and CONTINUATION frames. */
    private static final class HeaderBlockAssembler {
        /** More frames than a block within the limit needs. Bounds empty frames, which cost the peer next to nothing. */
        private static final int MAX_FRAMES = 64;

        private final int maxBytes;
        private int streamId;
        private boolean end;
        private int frames;
        private @Nullable ByteBuf bytes;

        HeaderBlockAssembler(int maxBytes) {
            this.maxBytes = maxBytes;
        }

        /** Checks that no frame interrupts a block, and that CONTINUATION follows an open block (RFC 9113, 6.10). */
        void check(int type, int id) {
            boolean continuation = type == FrameType.CONTINUATION;
            if (continuation != (streamId != 0) || (continuation && id != streamId)) {
                throw new Http2Violation(
                        Http2Error.PROTOCOL_ERROR,
                        continuation
                                ? "CONTINUATION on stream " + id + " without an open header block"
                                : "a frame of type " + type + " within a header block");
            }
        }

        /** Whether a block is incomplete. */
        boolean open() {
            return streamId != 0;
        }

        /** The memory that is held, in bytes. */
        int capacity() {
            return bytes == null ? 0 : bytes.capacity();
        }

        void begin(int id, boolean endOfStream, ByteBuf in, int length) {
            streamId = id;
            end = endOfStream;
            frames = 0;
            bytes = Unpooled.buffer(Math.min(maxBytes, 2 * length));
            add(in, length);
        }

        void add(ByteBuf in, int length) {
            ByteBuf held = held();
            if (++frames > MAX_FRAMES || held.readableBytes() + length > maxBytes) {
                throw new Http2Violation(
                        AbuseRule.HEADER_BLOCK,
                        "a header block of more than " + maxBytes + " bytes or " + MAX_FRAMES + " frames");
            }
            held.ensureWritable(length);
            in.readBytes(held, length);
        }

        void finish(FrameHandler handler) {
            ByteBuf held = held();
            int id = streamId;
            streamId = 0;
            try {
                handler.headers(id, held, held.readableBytes(), end);
            } finally {
                release();
            }
        }

        void release() {
            if (bytes != null) {
                bytes.release();
                bytes = null;
            }
        }

        private ByteBuf held() {
            return Objects.requireNonNull(bytes);
        }
    }
}
