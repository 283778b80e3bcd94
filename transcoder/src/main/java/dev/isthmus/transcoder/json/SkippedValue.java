package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.json.JsonTokenizer.Token;

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
            Token token = json.next();
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (ends(token, json)) {
                return true;
            }
        }
    }

    /** Steps over a token; whether it is the value's last. */
    boolean ends(Token token, JsonTokenizer json) {
        if (token == Token.STRING || token == Token.KEY) {
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

    public static boolean isWord(Token token) {
        return token == Token.NAN || token == Token.POSITIVE_INFINITY || token == Token.NEGATIVE_INFINITY;
    }

    private static String shown(Token token) {
        return switch (token) {
            case NAN -> "NaN";
            case NEGATIVE_INFINITY -> "-Infinity";
            default -> "Infinity";
        };
    }
}
