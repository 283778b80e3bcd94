package dev.isthmus.gateway.tracing;

/** Texts in spans, many of which are of clients. */
final class AttributeText {
    /** Bounds the memory of the spans that wait for the collector. */
    private static final int MAX_LENGTH = 512;

    private AttributeText() {}

    /** The text, or its beginning if it has more than 512 characters. */
    static String cut(String text) {
        if (text.length() <= MAX_LENGTH) {
            return text;
        }
        boolean pair = Character.isHighSurrogate(text.charAt(MAX_LENGTH - 1));
        return text.substring(0, pair ? MAX_LENGTH - 1 : MAX_LENGTH);
    }
}
