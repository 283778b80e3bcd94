package dev.isthmus.gateway.grpc;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The field {@code grpc-message}: percent-encoded UTF-8, with only printable ASCII other than '%' left as is. Spaces at
 * its ends are encoded as well: with them, a field is malformed (RFC 9113, 8.2.1).
 */
public final class StatusMessage {
    private static final HexFormat HEX = HexFormat.of().withUpperCase();
    /** Of a field, in octets: many clients accept 8 KiB of trailers and close the connection at more. */
    private static final int MAX = 6 << 10;

    private StatusMessage() {}

    /** The field's value for a text, of which 6 KiB are kept. */
    public static String encoded(String text) {
        if (text.length() <= MAX && plain(text)) {
            return text;
        }
        StringBuilder encoded = new StringBuilder(text.length() + 16);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        int i = 0;
        for (; i < bytes.length && encoded.length() < MAX; i++) {
            byte b = bytes[i];
            if (plain(b) && (b != ' ' || (i > 0 && i < bytes.length - 1))) {
                encoded.append((char) b);
            } else {
                encoded.append('%').append(HEX.toHexDigits(b));
            }
        }
        return encoded.append(i < bytes.length ? "..." : "").toString();
    }

    private static boolean plain(String text) {
        return !text.startsWith(" ") && !text.endsWith(" ") && text.chars().allMatch(StatusMessage::plain);
    }

    private static boolean plain(int c) {
        return c >= 0x20 && c < 0x7f && c != '%';
    }

    /** The text of a field's value. Malformed escapes are kept as they are; needless escapes are decoded. */
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

    /** The octet escaped at this index; negative if there is no escape. */
    private static int escape(String field, int at) {
        if (field.charAt(at) != '%' || at + 2 >= field.length()) {
            return -1;
        }
        int high = Character.digit(field.charAt(at + 1), 16);
        int low = Character.digit(field.charAt(at + 2), 16);
        return high < 0 || low < 0 ? -1 : high << 4 | low;
    }
}
