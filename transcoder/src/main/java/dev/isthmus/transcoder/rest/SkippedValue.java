package dev.isthmus.transcoder.rest;

import dev.isthmus.transcoder.rest.JsonTokenizer.Token;

/** Steps over a value that is of no interest. */
final class SkippedValue implements ValueReader {
    private final int depth;

    /** @param depth at which the value stands */
    SkippedValue(int depth) {
        this.depth = depth;
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
        return json.depth() == depth;
    }
}
