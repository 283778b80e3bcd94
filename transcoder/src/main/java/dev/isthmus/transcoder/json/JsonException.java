package dev.isthmus.transcoder.json;

/** A violation of the JSON grammar or of a limit; the message says what and where. */
public final class JsonException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    JsonException(String message) {
        super(message, null, false, false);
    }

    /** A byte in the form that messages show. */
    static String shown(byte c) {
        return c > 0x20 && c < 0x7f ? "'" + (char) c + "'" : String.format("byte 0x%02x", c);
    }
}
