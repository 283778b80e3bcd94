package dev.isthmus.gateway.http1;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * Reads the lines of a head, or of trailers, up to the empty line behind them. They are copied: a head is small, and
 * outlives the buffer that it was received in.
 */
final class FieldSectionReader {
    private static final byte[] NO_BYTES = {};
    private static final int[] NO_POSITIONS = {};
    private static final int MIN_BYTES = 256;
    /** The most that is copied at first, with what follows the head. */
    private static final int MAX_FIRST = 1024;

    private static final int FIRST_FIELDS = 8;

    private final HeadLimits limits;
    /** Reads the first line of a head. */
    private final Http1Parser parser;
    /** Whether a section is valid only until the first bytes of the next one are read. */
    private final boolean reuses;

    private byte[] bytes = NO_BYTES;
    private int[] positions = NO_POSITIONS;
    private int fields;
    private int length;
    /** OctetClasses that have been looked at. */
    private int scanned;

    private int lineStart;
    private int fieldBytes;
    private boolean inFields;

    FieldSectionReader(HeadLimits limits, Http1Parser parser, boolean reuses) {
        this.limits = limits;
        this.parser = parser;
        this.reuses = reuses;
    }

    /** The memory that it takes, in bytes. */
    int held() {
        return bytes.length + positions.length * Integer.BYTES;
    }

    /** Trailers follow, which have no start line; what was read before stays valid. */
    void expectFields() {
        inFields = true;
        drop();
    }

    private void drop() {
        bytes = NO_BYTES;
        positions = NO_POSITIONS;
    }

    /**
     * Reads on.
     *
     * @param in what is read of the section is skipped
     * @return whether the section is complete, or is not to be read on
     * @throws OipException if it is malformed or too long
     */
    boolean read(ByteBuf in) {
        while (in.isReadable()) {
            int copied = copy(in);
            boolean ended = lines();
            in.skipBytes(ended ? copied - (length - scanned) : copied);
            if (ended) {
                return true;
            }
            checkUnfinishedLine();
        }
        return false;
    }

    /** The fields that were read; another section can be read. */
    FieldSection take() {
        FieldSection taken = new FieldSection(bytes, positions, fields);
        if (!reuses || bytes.length > MAX_FIRST) {
            drop();
        }
        fields = 0;
        length = 0;
        scanned = 0;
        lineStart = 0;
        fieldBytes = 0;
        inFields = false;
        return taken;
    }

    private int copy(ByteBuf in) {
        if (bytes.length == 0) {
            bytes = new byte[Math.clamp(in.readableBytes(), MIN_BYTES, MAX_FIRST)];
            positions = new int[FIRST_FIELDS * FieldSection.POSITIONS];
        } else if (length == bytes.length) {
            bytes = Arrays.copyOf(bytes, 2 * length);
        }
        int copied = Math.min(in.readableBytes(), bytes.length - length);
        in.getBytes(in.readerIndex(), bytes, length, copied);
        length += copied;
        return copied;
    }

    /** Reads complete lines; returns whether the section has ended. */
    private boolean lines() {
        while (scanned < length) {
            if (bytes[scanned++] != OctetClasses.LF) {
                continue;
            }
            int from = lineStart;
            int to = scanned - 2;
            lineStart = scanned;
            if (to < from || bytes[to] != OctetClasses.CR) {
                throw OipException.invalid("lines that end in CR LF are expected in a head");
            }
            if (inFields && from == to) {
                return true;
            }
            if (inFields) {
                field(from, to);
            } else if (!line(from, to)) {
                return true;
            }
        }
        return false;
    }

    private boolean line(int from, int to) {
        inFields = true;
        if (to - from > limits.maxLine()) {
            throw limits.lineTooLong();
        }
        return parser.readStartLine(bytes, from, to);
    }

    private void field(int from, int to) {
        fieldBytes += to - from;
        if (fieldBytes > limits.maxBytes()) {
            throw limits.fieldsTooLong();
        }
        if (fields == limits.maxFields()) {
            throw limits.tooManyFields();
        }
        if (OctetClasses.isBlank(bytes[from])) {
            throw OipException.invalid("a header field in one line is expected, got one that is folded");
        }
        int colon = OctetClasses.endOfToken(bytes, from, to);
        if (colon == from || colon == to || bytes[colon] != ':') {
            throw OipException.invalid("header field: a name that is a token and is followed by a colon is expected");
        }
        int start = colon + 1;
        while (start < to && OctetClasses.isBlank(bytes[start])) {
            start++;
        }
        int end = to;
        while (end > start && OctetClasses.isBlank(bytes[end - 1])) {
            end--;
        }
        if (!OctetClasses.isFieldValue(bytes, start, end)) {
            throw OipException.invalid("header field: a value without control characters is expected");
        }
        add(from, colon, start, end);
    }

    private void add(int from, int colon, int start, int end) {
        int at = fields * FieldSection.POSITIONS;
        if (at == positions.length) {
            positions = Arrays.copyOf(positions, 2 * at);
        }
        positions[at] = from;
        positions[at + 1] = colon;
        positions[at + 2] = start;
        positions[at + 3] = end;
        fields++;
    }

    /** A line that will be too long is refused before its end arrives. */
    private void checkUnfinishedLine() {
        int unfinished = length - lineStart;
        if (unfinished > 0 && bytes[length - 1] == OctetClasses.CR) {
            unfinished--;
        }
        if (!inFields && unfinished > limits.maxLine()) {
            throw limits.lineTooLong();
        }
        if (inFields && fieldBytes + unfinished > limits.maxBytes()) {
            throw limits.fieldsTooLong();
        }
    }
}
