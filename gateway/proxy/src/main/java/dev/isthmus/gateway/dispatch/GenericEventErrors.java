package dev.isthmus.gateway.dispatch;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;

/**
 * Replaces the text of server-sent error events, <code>data: {"error": …}</code> in one line, while they are forwarded;
 * all other bytes are unchanged. Holds no buffer between the parts.
 */
final class GenericEventErrors {
    /** The start of such a line; {@code ~} stands for any whitespace. */
    private static final String PREFIX = "data:~{~\"error\"";

    private static final int OTHER_LINE = -1;
    private static final int MAX_TEXT = 2000;

    private final ByteBufAllocator allocator;
    private final UnaryOperator<String> replacement;
    /**
     * Length of the prefix that the line has matched so far; its whole length while the rest of an error is discarded.
     */
    private int matched;

    private final StringBuilder text = new StringBuilder();

    /** @param replacement returns the text to replace a server's; without quotes, backslashes and control characters */
    GenericEventErrors(ByteBufAllocator allocator, UnaryOperator<String> replacement) {
        this.allocator = allocator;
        this.replacement = replacement;
    }

    /**
     * Returns the next part of the stream with replaced texts.
     *
     * @param part taken
     * @return owned by the caller; may be empty
     */
    ByteBuf replaceErrors(ByteBuf part) {
        ByteBuf out = allocator.buffer(part.readableBytes());
        try {
            while (part.isReadable()) {
                next(part.readByte(), out);
            }
            return out;
        } finally {
            part.release();
        }
    }

    private void next(byte octet, ByteBuf out) {
        boolean lineEnds = octet == '\n' || octet == '\r';
        if (matched == PREFIX.length() && !lineEnds) {
            if (text.length() < MAX_TEXT) {
                text.append((char) (octet & 0xff));
            }
            return;
        }
        if (matched == PREFIX.length()) {
            String original = new String(text.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            text.setLength(0);
            out.writeCharSequence(":\"" + replacement.apply(original) + "\"}", StandardCharsets.UTF_8);
        }
        out.writeByte(octet);
        matched = lineEnds ? 0 : matched(octet);
    }

    private int matched(byte octet) {
        int at = matched;
        if (at == OTHER_LINE) {
            return at;
        }
        if (PREFIX.charAt(at) == '~') {
            if (octet == ' ' || octet == '\t') {
                return at;
            }
            at++;
        }
        return PREFIX.charAt(at) == octet ? at + 1 : OTHER_LINE;
    }
}
