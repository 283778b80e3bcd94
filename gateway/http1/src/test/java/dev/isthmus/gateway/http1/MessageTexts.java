package dev.isthmus.gateway.http1;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** Messages as text, and what a parser reads of them. */
public final class MessageTexts {
    private MessageTexts() {}

    /** The bytes: {@code ~} is CR LF; {@code \r}, {@code \n}, {@code \t} and {@code \xHH} are bytes. */
    public static byte[] bytes(String text) {
        StringBuilder bytes = new StringBuilder();
        String rest = text.replace("~", "\r\n")
                .replace("\\r", "\r")
                .replace("\\n", "\n")
                .replace("\\t", "\t");
        for (int i = 0; i < rest.length(); i++) {
            if (rest.startsWith("\\x", i)) {
                bytes.append((char) Integer.parseInt(rest.substring(i + 2, i + 4), 16));
                i += 3;
            } else {
                bytes.append(rest.charAt(i));
            }
        }
        return bytes.toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    /**
     * What is read of the bytes, which arrive in two parts: {@code head} for each head, bodies in brackets, {@code !}
     * for a failure or a peer that does not speak HTTP, {@code ...} if the last message has not ended.
     */
    static String read(Http1Parser parser, Supplier<String> head, byte[] bytes, int split) {
        MessageReading reading = new MessageReading(parser, head);
        reading.part(Unpooled.wrappedBuffer(bytes, 0, split));
        reading.part(Unpooled.wrappedBuffer(bytes, split, bytes.length - split));
        return reading.text();
    }

    /** The same for bytes that arrive one by one. */
    static String readByByte(Http1Parser parser, Supplier<String> head, byte[] bytes) {
        MessageReading reading = new MessageReading(parser, head);
        for (int i = 0; i < bytes.length; i++) {
            reading.part(Unpooled.wrappedBuffer(bytes, i, 1));
        }
        return reading.text();
    }

    private static final class MessageReading {
        private final Http1Parser parser;
        private final Supplier<String> head;
        private final StringBuilder text = new StringBuilder();
        private final StringBuilder body = new StringBuilder();

        MessageReading(Http1Parser parser, Supplier<String> head) {
            this.parser = parser;
            this.head = head;
        }

        void part(ByteBuf in) {
            try {
                for (Http1Parser.ParserEvent event = parser.next(in);
                        event != Http1Parser.ParserEvent.MORE;
                        event = parser.next(in)) {
                    add(event);
                }
            } catch (OipException malformed) {
                text.append('!');
            } finally {
                in.release();
            }
        }

        private void add(Http1Parser.ParserEvent event) {
            switch (event) {
                case HEAD -> text.append(head.get());
                case CONTENT -> {
                    ByteBuf part = parser.content();
                    body.append(part.toString(StandardCharsets.ISO_8859_1));
                    part.release();
                }
                case FOREIGN -> text.append("!");
                case END, MORE -> {}
            }
            if (parser.ended()) {
                text.append('[').append(body).append(']');
                body.setLength(0);
            }
        }

        String text() {
            return text + (parser.endsWithConnection() ? "[" + body + "]..." : parser.begun() ? "..." : "");
        }
    }
}
