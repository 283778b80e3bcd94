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
        text.codePoints().forEach(point -> {
            switch (point) {
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '"', '\\' -> out.append(quoted ? "\\" : "").append((char) point);
                default -> {
                    if (isUnsafe(Character.getType(point))) {
                        for (char half : Character.toChars(point)) {
                            escape(out, half);
                        }
                    } else {
                        out.appendCodePoint(point);
                    }
                }
            }
        });
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
