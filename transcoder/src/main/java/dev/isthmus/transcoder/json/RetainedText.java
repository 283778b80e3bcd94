package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import java.io.ByteArrayOutputStream;

/** Keeps the text of a value. */
public final class RetainedText implements ValueReader {
    private final SkippedValue value;
    private final ByteArrayOutputStream text = new ByteArrayOutputStream();

    public RetainedText(SkippedValue value) {
        this.value = value;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            int from = json.position();
            Token token = json.next();
            add(json.window(), from, json.position());
            if (token == Token.NEED_MORE) {
                return false;
            }
            if (value.ends(token, json)) {
                return true;
            }
        }
    }

    /** Adds what stands before that which will be read. */
    public void add(byte[] window, int from, int to) {
        text.write(window, from, to - from);
    }

    /** Whether NaN or an infinity is in it, which are no JSON. */
    public boolean hasWord() {
        return value.hasWord();
    }

    public int size() {
        return text.size();
    }

    /** It, from where the tokenizer was: with a colon and spaces that may stand before the value. */
    public byte[] utf8() {
        return text.toByteArray();
    }
}
