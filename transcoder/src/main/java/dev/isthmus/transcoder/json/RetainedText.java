package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.json.JsonTokenizer.Token;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.NumberRun;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongConsumer;

/** Keeps the text of a value: from where the tokenizer was, with a colon and spaces that may stand before the value. */
public final class RetainedText implements ValueReader {
    private static final byte[] NONE = {};

    private final SkippedValue value;
    private final LongConsumer held;
    private byte[] text = NONE;
    private int size;

    /** @param held counts the bytes of it, until {@link #release()} */
    public RetainedText(SkippedValue value, LongConsumer held) {
        this.value = value;
        this.held = held;
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
        int needed = size + to - from + NumberRun.PADDING;
        if (needed > text.length) {
            resize(Math.max(needed, 2 * text.length));
        }
        System.arraycopy(window, from, text, size, to - from);
        size += to - from;
    }

    private void resize(int length) {
        held.accept((long) length - text.length);
        text = Arrays.copyOf(text, length);
    }

    /** Whether NaN or an infinity is in it, which are no JSON. */
    public boolean hasWord() {
        return value.hasWord();
    }

    /** Bytes of the text. */
    public int size() {
        return size;
    }

    /** The value, from where the tokenizer was. */
    public String text() {
        return new String(text, 0, size, StandardCharsets.UTF_8);
    }

    /** The tokens of the value, from its first, where a colon stands before it; a view of the text. */
    public JsonTokenizer tokens(WireLimits limits) {
        int colon = 0;
        while (text[colon] != ':') {
            colon++;
        }
        return JsonTokenizer.of(limits, text, colon + 1, size);
    }

    /** It is not needed any more. */
    public void release() {
        held.accept(-text.length);
        text = NONE;
        size = 0;
    }
}
