package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.NumberRun;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongConsumer;

/** Retains the text of a value from the tokenizer's position on, which includes a preceding colon and white space. */
public final class RetainedText implements ValueReader {
    private static final byte[] NONE = {};

    private final SkippedValue value;
    private final LongConsumer held;
    private byte[] text = NONE;
    private int size;

    /** @param held receives each change of the memory held, in bytes */
    public RetainedText(SkippedValue value, LongConsumer held) {
        this.value = value;
        this.held = held;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            int from = json.position();
            JsonToken token = json.next();
            add(json.window(), from, json.position());
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (value.ends(token, json)) {
                return true;
            }
        }
    }

    /** Adds text that precedes the tokens still to be read. */
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

    /** Whether it contains NaN or an infinity, which are not JSON. */
    public boolean hasWord() {
        return value.hasWord();
    }

    /** The length of the text, in bytes. */
    public int size() {
        return size;
    }

    public String text() {
        return new String(text, 0, size, StandardCharsets.UTF_8);
    }

    /** A tokenizer of the value, if a colon precedes it; a view of the text. */
    public JsonTokenizer tokens(WireLimits limits) {
        int colon = 0;
        while (text[colon] != ':') {
            colon++;
        }
        return JsonTokenizer.of(limits, text, colon + 1, size);
    }

    /** Releases the text. */
    public void release() {
        held.accept(-text.length);
        text = NONE;
        size = 0;
    }
}
