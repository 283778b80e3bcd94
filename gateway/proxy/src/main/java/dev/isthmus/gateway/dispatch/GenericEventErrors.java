package dev.isthmus.gateway.dispatch;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;

/**
 * Puts another text into server-sent events that are errors, <code>data: {"error": …}</code> in one line, while they are
 * passed on; all other bytes stay as they are. Holds no buffer between the parts.
 */
final class GenericEventErrors {
    /** How such a line begins; {@code ~} stands for any blanks. */
    private static final String BEGINNING = "data:~{~\"error\"";

    private static final int OTHER_LINE = -1;
    private static final int MAX_KEPT = 2000;

    private final ByteBufAllocator allocator;
    private final UnaryOperator<String> shown;
    /** How much of the beginning the line has so far; its whole length while the rest of an error is dropped. */
    private int matched;

    private final StringBuilder dropped = new StringBuilder();

    /** @param shown the text in place of a server's; without quotes, backslashes and control characters */
    GenericEventErrors(ByteBufAllocator allocator, UnaryOperator<String> shown) {
        this.allocator = allocator;
        this.shown = shown;
    }

    /**
     * The next part of the stream with other texts.
     *
     * @param part taken
     * @return the caller's; it may be empty
     */
    ByteBuf without(ByteBuf part) {
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
        if (matched == BEGINNING.length() && !lineEnds) {
            if (dropped.length() < MAX_KEPT) {
                dropped.append((char) (octet & 0xff));
            }
            return;
        }
        if (matched == BEGINNING.length()) {
            String text = new String(dropped.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            dropped.setLength(0);
            out.writeCharSequence(":\"" + shown.apply(text) + "\"}", StandardCharsets.UTF_8);
        }
        out.writeByte(octet);
        matched = lineEnds ? 0 : matched(octet);
    }

    private int matched(byte octet) {
        int at = matched;
        if (at == OTHER_LINE) {
            return at;
        }
        if (BEGINNING.charAt(at) == '~') {
            if (octet == ' ' || octet == '\t') {
                return at;
            }
            at++;
        }
        return BEGINNING.charAt(at) == octet ? at + 1 : OTHER_LINE;
    }
}
