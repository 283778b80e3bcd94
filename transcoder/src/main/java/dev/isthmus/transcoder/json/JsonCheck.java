package dev.isthmus.transcoder.json;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;

/**
 * Checks, chunk by chunk, that the body of a non-inference request or response is one JSON object (RFC 8259) within the
 * limits for inference bodies. Retains only the member names of open objects. Not thread-safe.
 */
public final class JsonCheck {
    private static final int PART = 8 * 1024;

    /** Bytes of the read window that are not counted, because every body takes them. */
    private static final int FREE = 16 << 10;

    private final JsonTokenizer json;
    private final long maxValues;
    private final boolean optional;
    /** Whether the non-JSON tokens NaN, Infinity and -Infinity are accepted. */
    private final boolean nonFiniteTokens;

    private long heap;
    private final OpenObjects open = new OpenObjects(change -> heap += change);
    private long values;
    private boolean any;

    private JsonCheck(WireLimits limits, long maxValues, boolean optional, boolean nonFiniteTokens) {
        this.json = JsonTokenizer.of(limits);
        this.maxValues = maxValues;
        this.optional = optional;
        this.nonFiniteTokens = nonFiniteTokens;
    }

    /** A check for a request body that is passed through to a server. */
    public static JsonCheck passed(WireLimits limits) {
        return new JsonCheck(limits, Long.MAX_VALUE, false, false);
    }

    /**
     * A check for a server's response that is passed through, whose size is limited elsewhere; many servers write
     * non-finite numbers as Python does.
     */
    public static JsonCheck response() {
        return new JsonCheck(WireLimits.DEFAULT.withBodyBytes(Long.MAX_VALUE), Long.MAX_VALUE, false, true);
    }

    /**
     * A check for a body that may be read into a tree, and so has a limited number of values; the body may be empty.
     */
    public static JsonCheck optional(WireLimits limits) {
        return new JsonCheck(limits, OpenObjects.MAX_MEMBERS, true, false);
    }

    /**
     * Checks the next chunk of the body.
     *
     * @param chunk borrowed
     * @throws OipException INVALID_ARGUMENT if the body is malformed or exceeds a limit
     */
    public void feed(ByteBuf chunk) {
        for (int at = chunk.readerIndex(); at < chunk.writerIndex(); at += PART) {
            any = true;
            json.feed(chunk, at, Math.min(PART, chunk.writerIndex() - at));
            read();
        }
    }

    /**
     * Ends the body.
     *
     * @throws OipException INVALID_ARGUMENT if it is incomplete
     */
    public void finish() {
        if (any || !optional) {
            json.last();
            read();
        }
    }

    /** The approximate heap memory held, in bytes. */
    public long held() {
        return heap + Math.max(0, json.window().length - FREE);
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
            case END_OBJECT -> open.closed(json.depth() + 1);
            case KEY -> open.member(json.depth(), json.text());
            case STRING -> json.utf8();
            case NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY -> {
                if (!nonFiniteTokens) {
                    throw OipException.invalid("malformed JSON: a value is expected, got " + token);
                }
            }
            case START_OBJECT, START_ARRAY, END_ARRAY, NUMBER, TRUE, FALSE, NULL, NEED_MORE, END -> {}
        }
        values++;
        if (values > maxValues) {
            throw OipException.invalid("the body: at most " + maxValues + " values and names are accepted");
        }
    }
}
