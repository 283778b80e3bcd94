package dev.isthmus.gateway.grpc;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** The field {@code grpc-message}: UTF-8, with everything but printable ASCII, and the percent sign, escaped. */
public final class StatusMessage {
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    private StatusMessage() {}

    /** A text as the field has it. */
    public static String encoded(String text) {
        if (plain(text)) {
            return text;
        }
        StringBuilder encoded = new StringBuilder(text.length() + 16);
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (plain(b)) {
                encoded.append((char) b);
            } else {
                encoded.append('%').append(HEX[(b >> 4) & 0xf]).append(HEX[b & 0xf]);
            }
        }
        return encoded.toString();
    }

    private static boolean plain(String text) {
        return text.chars().allMatch(StatusMessage::plain);
    }

    private static boolean plain(int c) {
        return c >= 0x20 && c < 0x7f && c != '%';
    }

    /** The text that a field has. What is no escape, or is escaped for nothing, is taken as it stands. */
    public static String decoded(CharSequence value) {
        String field = value.toString();
        if (plain(field)) {
            return field;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(field.length());
        int at = 0;
        while (at < field.length()) {
            int octet = escape(field, at);
            bytes.write(octet >= 0 ? octet : field.charAt(at));
            at += octet >= 0 ? 3 : 1;
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** The octet that is escaped here; negative for none. */
    private static int escape(String field, int at) {
        if (field.charAt(at) != '%' || at + 2 >= field.length()) {
            return -1;
        }
        int high = Character.digit(field.charAt(at + 1), 16);
        int low = Character.digit(field.charAt(at + 2), 16);
        return high < 0 || low < 0 ? -1 : high << 4 | low;
    }
}
