package dev.isthmus.transcoder.json;

import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Skips a value, which may be read strictly: without duplicate keys, NaN and the infinities. */
public final class SkippedValue implements ValueReader {
    private final int depth;
    private final @Nullable LongConsumer heap;
    private @Nullable OpenObjects objects;
    private boolean hasWord;

    private SkippedValue(int depth, @Nullable LongConsumer heap) {
        this.depth = depth;
        this.heap = heap;
    }

    /** A value that may contain the words NaN, Infinity and -Infinity. */
    public static SkippedValue lenient(int depth) {
        return new SkippedValue(depth, null);
    }

    /**
     * A value that is JSON, without duplicate keys.
     *
     * @param depth the number of arrays and objects around the value
     * @param heap receives each change of the heap held, in bytes
     */
    public static SkippedValue strict(int depth, LongConsumer heap) {
        return new SkippedValue(depth, heap);
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
            if (heap != null) {
                throw json.failure("only the data of a tensor may have " + token);
            }
        }
        if (heap != null && (token == JsonToken.KEY || objects != null)) {
            keys(token, json, heap);
        }
        return json.depth() == depth;
    }

    private void keys(JsonToken token, JsonTokenizer json, LongConsumer held) {
        if (objects == null) {
            objects = new OpenObjects(held);
        }
        if (token == JsonToken.KEY) {
            objects.member(json.depth(), json.text());
        } else if (token == JsonToken.END_OBJECT) {
            objects.closed(json.depth() + 1);
        }
    }

    /** Whether it contained NaN or an infinity. */
    public boolean hasWord() {
        return hasWord;
    }

    /** Whether it is NaN, Infinity or -Infinity. */
    public static boolean isWord(JsonToken token) {
        return token == JsonToken.NAN || token == JsonToken.POSITIVE_INFINITY || token == JsonToken.NEGATIVE_INFINITY;
    }
}
