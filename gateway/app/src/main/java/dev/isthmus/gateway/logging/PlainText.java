package dev.isthmus.gateway.logging;

/** Makes any text safe to stand in a line: nothing in it can end the line, move the cursor or change the direction. */
final class PlainText {
    private static final char[] HEX = "0123456789abcdef".toCharArray();

    private PlainText() {}

    /**
     * Appends a text with escapes: {@code \n}, {@code \r}, {@code \t}, {@code \}{@code uXXXX} for all other control and
     * formatting characters, line separators and unpaired surrogates.
     *
     * @param quoted whether the text stands in double quotes, so that those and backslashes are escaped, too
     */
    static void append(StringBuilder out, CharSequence text, boolean quoted) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quoted && (c == '"' || c == '\\')) {
                out.append('\\').append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else if (c == '\r') {
                out.append("\\r");
            } else if (c == '\t') {
                out.append("\\t");
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                int point = Character.toCodePoint(c, text.charAt(i + 1));
                if (isUnsafe(Character.getType(point))) {
                    escape(out, c);
                    escape(out, text.charAt(i + 1));
                } else {
                    out.appendCodePoint(point);
                }
                i++;
            } else if (isUnsafe(Character.getType(c))) {
                escape(out, c);
            } else {
                out.append(c);
            }
        }
    }

    private static boolean isUnsafe(int type) {
        return switch (type) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }

    private static void escape(StringBuilder out, char c) {
        out.append("\\u").append(HEX[c >> 12]).append(HEX[c >> 8 & 0xf]);
        out.append(HEX[c >> 4 & 0xf]).append(HEX[c & 0xf]);
    }

    /** The text, cut after {@code most} characters, with the number of those that are missing. */
    static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most) + "… (" + (text.length() - most) + " more)";
    }
}
