package dev.isthmus.transcoder.json;

/** Skips a value. */
public final class SkippedValue implements ValueReader {
    private final int depth;
    private final boolean nonFiniteTokens;
    private boolean hasWord;

    /**
     * @param depth the number of arrays and objects around the value
     * @param nonFiniteTokens whether the non-JSON tokens NaN, Infinity and -Infinity are accepted
     */
    public SkippedValue(int depth, boolean nonFiniteTokens) {
        this.depth = depth;
        this.nonFiniteTokens = nonFiniteTokens;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (ends(token, json)) {
                return true;
            }
        }
    }

    /** Skips a token; returns whether it is the last of the value. */
    boolean ends(JsonToken token, JsonTokenizer json) {
        if (token == JsonToken.STRING || token == JsonToken.KEY) {
            // Skipped strings must be valid too.
            json.utf8();
        }
        if (isWord(token)) {
            hasWord = true;
            if (!nonFiniteTokens) {
                throw json.failure("only the data of a tensor may have " + shown(token));
            }
        }
        return json.depth() == depth;
    }

    /** Whether it contained NaN or an infinity. */
    boolean hasWord() {
        return hasWord;
    }

    /** Whether it is NaN, Infinity or -Infinity. */
    public static boolean isWord(JsonToken token) {
        return token == JsonToken.NAN || token == JsonToken.POSITIVE_INFINITY || token == JsonToken.NEGATIVE_INFINITY;
    }

    private static String shown(JsonToken token) {
        return switch (token) {
            case NAN -> "NaN";
            case NEGATIVE_INFINITY -> "-Infinity";
            default -> "Infinity";
        };
    }
}
