package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ModelInferRequest that is checked while it comes: its head as that of a whole message is, and each raw content's length
 * against its input before the bytes come. Such a message is its head and the raw contents of its inputs, and nothing else.
 */
public final class RawRequest {
    /** Of raw_input_contents. */
    static final int TAG = 7 << 3 | ProtoCursor.BYTES;

    private static final int MOST_SHIFT = 63;

    private final int headLength;
    private final long length;
    private final ProtobufReader.Contested contested;
    private final List<RawContent> contents;
    private final int outputs;
    /** Of the content that is under way, or that is next. */
    private int index;
    /** Bytes of the content under way that have not come. */
    private long left;

    private boolean tagged;
    private long number;
    private int shift;

    /** The raw content of an input, as it must be. */
    record RawContent(String input, DataType type, Shape shape, long bytes) {}

    private RawRequest(
            int headLength, long length, ProtobufReader.Contested contested, List<RawContent> contents, int outputs) {
        this.headLength = headLength;
        this.length = length;
        this.contested = contested;
        this.contents = contents;
        this.outputs = outputs;
    }

    /**
     * Begins with the head of a message.
     *
     * @param head all that stands before the raw contents; borrowed
     * @param length of the whole message
     * @return null where the message cannot be checked before all of it is there: it has tensors whose bytes say how long they
     *     are, or that lie in shared memory, or its length is not that of the raw contents that belong to the head
     * @throws OipException when the head breaks the protocol
     */
    public static @Nullable RawRequest of(ByteBuf head, long length, WireLimits limits) {
        MessageParser parser = new MessageParser(head, MessageParser.REQUEST, limits.withSharedMemory(true));
        List<RawContent> contents = parser.head();
        int headLength = head.readableBytes();
        if (contents == null || !fits(contents, length - headLength)) {
            return null;
        }
        var contested = parser.contested();
        return new RawRequest(
                headLength,
                length,
                contested,
                List.copyOf(contents),
                parser.outputs().size());
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

    /** How many inputs it has. */
    public int inputs() {
        return contents.size();
    }

    /** How many outputs it asks for by name. */
    public int outputs() {
        return outputs;
    }

    /** Bytes of the head. */
    public int headLength() {
        return headLength;
    }

    /** Bytes of the whole message. */
    public long length() {
        return length;
    }

    /** What servers differ about in it. */
    public ProtobufReader.Contested contested() {
        return contested;
    }

    /**
     * Checks the next bytes behind the head.
     *
     * @param part borrowed
     * @throws OipException when these are not the raw contents that the head asks for
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

    /** A byte of a field's tag or of its length. */
    private void add(byte b) {
        if (shift > MOST_SHIFT) {
            throw invalid("malformed protobuf message: a varint has more than ten bytes");
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
            throw invalid("raw contents: one entry for each of the " + contents.size() + " inputs is expected, got "
                    + (tag == TAG ? "more" : Integer.toString(index)));
        }
    }

    private void begin(long length) {
        RawContent content = contents.get(index);
        TensorCheck.INPUT.requireSize(content.input, content.type, content.shape, length);
        left = length;
        index++;
    }

    /** Whether all raw contents have come. */
    public boolean complete() {
        return left == 0 && index == contents.size() && !tagged && shift == 0;
    }

    private static OipException invalid(String message) {
        return new OipException(ErrorCode.INVALID_ARGUMENT, message);
    }
}
