package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ModelInferRequest that is validated while it arrives: first its head, as in a complete message, then the length of
 * each raw content against its input. Such a message consists of its head and the raw contents of its inputs only.
 */
public final class RawRequest {
    /** The tag of raw_input_contents. */
    static final int TAG = 7 << 3 | ProtoCursor.BYTES;

    private static final int MAX_SHIFT = 63;

    private final int headLength;
    private final long length;
    private final ProtobufReader.Contested contested;
    private final List<RawContent> contents;
    private final RequestOutline outline;
    /** The index of the next content. */
    private int index;
    /** The bytes of the current content not yet received. */
    private long left;

    private boolean tagged;
    private long number;
    private int shift;

    /** The expected raw content of an input. */
    record RawContent(String input, DataType type, Shape shape, long bytes) {}

    private RawRequest(
            int headLength,
            long length,
            ProtobufReader.Contested contested,
            List<RawContent> contents,
            RequestOutline outline) {
        this.headLength = headLength;
        this.length = length;
        this.contested = contested;
        this.contents = contents;
        this.outline = outline;
    }

    /**
     * Validates the head of a message.
     *
     * @param head everything before the raw contents; borrowed
     * @param length the length of the whole message
     * @return null if the message can be validated only when it is complete: it has BYTES tensors or tensors in shared
     *     memory, or its length does not match the head
     * @throws OipException if the head violates the protocol
     */
    public static @Nullable RawRequest of(ByteBuf head, long length, WireLimits limits) {
        MessageParser parser = new MessageParser(head, MessageParser.REQUEST, limits.withSharedMemory(true));
        List<RawContent> contents = parser.head();
        int headLength = head.readableBytes();
        if (contents == null || !fits(contents, length - headLength)) {
            return null;
        }
        var contested = parser.contested();
        return new RawRequest(headLength, length, contested, List.copyOf(contents), parser.outline());
    }

    private static boolean fits(List<RawContent> contents, long length) {
        long left = length;
        for (RawContent content : contents) {
            left -= 1 + ProtobufWriter.varintSize(content.bytes);
            if (content.bytes > left) {
                return false;
            }
            left -= content.bytes;
        }
        return left == 0;
    }

    public int inputs() {
        return contents.size();
    }

    public int outputs() {
        return outline.outputs().size();
    }

    public RequestOutline outline() {
        return outline;
    }

    /** The length of the head, in bytes. */
    public int headLength() {
        return headLength;
    }

    /** The length of the whole message, in bytes. */
    public long length() {
        return length;
    }

    /** Its features that servers support differently. */
    public ProtobufReader.Contested contested() {
        return contested;
    }

    /**
     * Validates the next bytes after the head.
     *
     * @param part borrowed
     * @throws OipException if they are not the raw contents that the head requires
     */
    public void check(ByteBuf part) {
        int at = part.readerIndex();
        int end = part.writerIndex();
        while (at < end) {
            if (left > 0) {
                int step = (int) Math.min(left, end - at);
                left -= step;
                at += step;
            } else {
                add(part.getByte(at));
                at++;
            }
        }
    }

    /** Adds a byte of a field's tag or length. */
    private void add(byte b) {
        if (shift > MAX_SHIFT) {
            throw OipException.invalid("malformed protobuf message: a varint has more than ten bytes");
        }
        number |= (long) (b & 0x7f) << shift;
        shift += 7;
        if (b >= 0) {
            long complete = number;
            number = 0;
            shift = 0;
            if (tagged) {
                begin(complete);
            } else {
                requireNext(complete);
            }
            tagged = !tagged;
        }
    }

    private void requireNext(long tag) {
        if (tag != TAG || index == contents.size()) {
            throw OipException.invalid("raw contents: one entry for each of the " + contents.size()
                    + " inputs is expected, got " + (tag == TAG ? "more" : Integer.toString(index)));
        }
    }

    private void begin(long length) {
        RawContent content = contents.get(index);
        TensorCheck.INPUT.requireSize(content.input, content.type, content.shape, length);
        left = length;
        index++;
    }

    /** Whether all raw contents have been received. */
    public boolean complete() {
        return left == 0 && index == contents.size() && !tagged && shift == 0;
    }
}
