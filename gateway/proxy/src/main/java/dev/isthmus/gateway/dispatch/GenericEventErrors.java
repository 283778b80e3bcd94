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
    private static final int MAX_TEXT = 2000;

    private final ByteBufAllocator allocator;
    private final UnaryOperator<String> replacement;
    private final ErrorEventPrefix prefix = new ErrorEventPrefix();
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
        boolean error = prefix.isMatched();
        if (error && !ErrorEventPrefix.endsLine(octet)) {
            if (text.length() < MAX_TEXT) {
                text.append((char) (octet & 0xff));
            }
            return;
        }
        if (error) {
            String original = new String(text.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            text.setLength(0);
            out.writeCharSequence(":\"" + replacement.apply(original) + "\"}", StandardCharsets.UTF_8);
        }
        out.writeByte(octet);
        prefix.process(octet);
    }
}
