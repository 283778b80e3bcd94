package dev.isthmus.transcoder.json;

/** Steps over a value that is of no interest. */
public final class SkippedValue implements ValueReader {
    private final int depth;
    private final boolean words;
    private boolean hasWord;

    /**
     * @param depth at which the value stands
     * @param words whether NaN and the infinities are taken, which are no JSON
     */
    public SkippedValue(int depth, boolean words) {
        this.depth = depth;
        this.words = words;
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

    /** Steps over a token; whether it is the value's last. */
    boolean ends(JsonToken token, JsonTokenizer json) {
        if (token == JsonToken.STRING || token == JsonToken.KEY) {
            // Also what is not wanted must be JSON.
            json.utf8();
        }
        if (isWord(token)) {
            hasWord = true;
            if (!words) {
                throw json.failure("only the data of a tensor may have " + shown(token));
            }
        }
        return json.depth() == depth;
    }

    /** Whether NaN or an infinity was in it. */
    boolean hasWord() {
        return hasWord;
    }

    /** Whether it is one of the words for NaN and the infinities. */
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
