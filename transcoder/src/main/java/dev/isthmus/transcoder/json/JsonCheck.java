package dev.isthmus.transcoder.json;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * Makes sure that a body, or an answer, which is no inference is one JSON object (RFC 8259) within the limits that hold for inferences,
 * while it arrives in chunks. Keeps nothing of it but the names of the members of objects that are open. Not thread-safe.
 */
public final class JsonCheck {
    /** Of objects that are open: each takes memory until its object is complete. */
    static final int MOST_MEMBERS = 1 << 16;

    /** About what the name of a member takes of the heap, which is short but for very few, in bytes. */
    private static final int NAME = 160;

    private static final int PART = 8 * 1024;

    /** Of what is being read, not counted: any body takes so much. */
    private static final int FREE = 16 << 10;

    private final JsonTokenizer json;
    private final long mostValues;
    private final boolean optional;
    /** Whether NaN and the infinities are taken, which are no JSON. */
    private final boolean words;

    private final Deque<Set<String>> open = new ArrayDeque<>();
    private int members;
    private long values;
    private boolean any;

    private JsonCheck(WireLimits limits, long mostValues, boolean optional, boolean words) {
        this.json = new JsonTokenizer(limits);
        this.mostValues = mostValues;
        this.optional = optional;
        this.words = words;
    }

    /** Of a body that goes on to a server unread. */
    public static JsonCheck passed(WireLimits limits) {
        return new JsonCheck(limits, Long.MAX_VALUE, false, false);
    }

    /** Of a server's answer that goes on unread; many write numbers that are not finite as Python does. */
    public static JsonCheck answer() {
        return new JsonCheck(WireLimits.DEFAULT, Long.MAX_VALUE, false, true);
    }

    /** Of a body that may be read into a tree, and so has few values; an empty one will do as well. */
    public static JsonCheck optional(WireLimits limits) {
        return new JsonCheck(limits, MOST_MEMBERS, true, false);
    }

    /**
     * Looks at the next part of the body.
     *
     * @param chunk borrowed
     * @throws OipException INVALID_ARGUMENT where the body is not what it must be
     */
    public void feed(ByteBuf chunk) {
        for (int at = chunk.readerIndex(); at < chunk.writerIndex(); at += PART) {
            any = true;
            json.feed(chunk, at, Math.min(PART, chunk.writerIndex() - at));
            read();
        }
    }

    /**
     * The body is complete.
     *
     * @throws OipException INVALID_ARGUMENT where its end is missing
     */
    public void finish() {
        if (any || !optional) {
            json.last();
            read();
        }
    }

    /** About how many bytes of the heap it holds. */
    public long held() {
        return (long) members * NAME + Math.max(0, json.window().length - FREE);
    }

    private void read() {
        try {
            JsonToken token = json.next();
            while (token != JsonToken.NEED_MORE && token != JsonToken.END) {
                take(token);
                token = json.next();
            }
        } catch (JsonException e) {
            throw OipException.invalid(String.valueOf(e.getMessage()));
        }
    }

    private void take(JsonToken token) {
        if (values == 0 && token != JsonToken.START_OBJECT) {
            throw OipException.invalid("the body: an object is expected, got " + token);
        }
        switch (token) {
            case START_OBJECT -> open.push(new HashSet<>());
            case END_OBJECT -> members -= open.pop().size();
            case KEY -> member(json.text());
            case STRING -> json.utf8();
            case NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY -> {
                if (!words) {
                    throw OipException.invalid("malformed JSON: a value is expected, got " + token);
                }
            }
            case START_ARRAY, END_ARRAY, NUMBER, TRUE, FALSE, NULL, NEED_MORE, END -> {}
        }
        values++;
        if (values > mostValues) {
            throw OipException.invalid("the body: at most " + mostValues + " values and names are taken");
        }
    }

    private void member(String name) {
        if (!open.getFirst().add(name)) {
            throw OipException.invalid("key '" + name + "' is given twice");
        }
        members++;
        if (members > MOST_MEMBERS) {
            throw OipException.invalid("the body: at most " + MOST_MEMBERS + " members are taken");
        }
    }
}
