package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.JsonNumbers;
import dev.isthmus.transcoder.number.NumberRun;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A strict JSON tokenizer (RFC 8259) that is fed a document in chunks. An incomplete token stays in the window and is
 * read again when more has arrived, so that every token is contiguous. The only extension to the RFC are the tokens
 * that Triton writes for non-finite numbers: NaN, Infinity and -Infinity.
 */
public final class JsonTokenizer {
    private enum Expect {
        VALUE,
        VALUE_OR_END,
        KEY,
        KEY_OR_END,
        COLON,
        COMMA_OR_END,
        NOTHING
    }

    /** Extra window bytes for the unread rest of a chunk when the next one arrives. */
    private static final int SPARE = 256;

    private static final int MAX_WINDOW = Integer.MAX_VALUE - 64;
    private static final byte[] NONE = {};

    /** A larger window is not kept for another document, in bytes. */
    private static final int MAX_KEPT = 1024;

    /** One that no document needs, for the next document of the thread. */
    private static final FastThreadLocal<@Nullable JsonTokenizer> UNUSED = new FastThreadLocal<>();

    private WireLimits limits = WireLimits.DEFAULT;
    private int maxString;
    private byte[] window = NONE;
    private int at;
    private int end;
    private long consumedBefore;
    private boolean last;

    /** A bit for each level, from the outermost: whether it is an object. */
    private long objects;

    private int depth;
    private Expect expect = Expect.VALUE;

    private int tokenStart;
    private int tokenEnd;
    /** Bytes of an incomplete number that were scanned. */
    private int scanned;

    private final JsonStrings strings = new JsonStrings();
    private @Nullable JsonNumbers number;

    private JsonTokenizer() {}

    /** A tokenizer for a document that is {@linkplain #feed fed}. */
    public static JsonTokenizer of(WireLimits limits) {
        JsonTokenizer unused = UNUSED.get();
        UNUSED.set(null);
        return (unused == null ? new JsonTokenizer() : unused).begin(limits);
    }

    private JsonTokenizer begin(WireLimits documentLimits) {
        limits = documentLimits;
        maxString = (int) Math.min(limits.bodyBytes(), MAX_WINDOW);
        at = 0;
        end = 0;
        consumedBefore = 0;
        last = false;
        depth = 0;
        expect = Expect.VALUE;
        scanned = 0;
        strings.begin();
        return this;
    }

    /**
     * A tokenizer for a complete document.
     *
     * @param text not copied; must have {@link NumberRun#PADDING} bytes after {@code to}
     */
    static JsonTokenizer of(WireLimits limits, byte[] text, int from, int to) {
        JsonTokenizer json = new JsonTokenizer().begin(limits);
        json.window = text;
        json.consumedBefore = -from;
        json.at = from;
        json.end = to;
        json.last = true;
        return json;
    }

    /**
     * Adds the next part of the document: {@code length} bytes of the chunk (borrowed, its indices are not moved) from
     * index {@code from}.
     */
    public void feed(ByteBuf chunk, int from, int length) {
        if (end + length + NumberRun.PADDING > window.length) {
            compact(length);
        }
        chunk.getBytes(from, window, end, length);
        end += length;
    }

    /** Moves the unread rest to the front. A large rest moves into a larger window, so that it is moved rarely. */
    private void compact(int length) {
        int kept = end - at;
        int needed = kept + length + NumberRun.PADDING;
        byte[] to = needed > window.length ? new byte[larger(needed, Math.max(kept, at == 0 ? 0 : SPARE))] : window;
        System.arraycopy(window, at, to, 0, kept);
        window = to;
        consumedBefore += at;
        at = 0;
        end = kept;
    }

    private static int larger(int needed, int spare) {
        return Math.max(needed, (int) Math.min((long) needed + spare, MAX_WINDOW));
    }

    /** The document needs it no more: it becomes that of another one, and nothing may be read from here. */
    public void release() {
        if (window.length > MAX_KEPT) {
            window = NONE;
            number = null;
        }
        UNUSED.set(this);
    }

    /** Marks the end of the document: a token at the end of the window is complete. */
    public void last() {
        last = true;
    }

    /** The number of open arrays and objects. */
    public int depth() {
        return depth;
    }

    /** The bytes from which tokens are read; valid until the next {@link #feed}. */
    public byte[] window() {
        return window;
    }

    /** The index in {@link #window()} from which the next token is read. */
    public int position() {
        return at;
    }

    /** The text of the last NUMBER or non-finite token. */
    public String token() {
        return new String(window, tokenStart, tokenEnd - tokenStart, StandardCharsets.US_ASCII);
    }

    /** The last NUMBER, read; valid until the next one. */
    public JsonNumbers number() {
        if (number == null) {
            number = new JsonNumbers();
        }
        number.read(window, tokenStart, tokenEnd);
        return number;
    }

    /** The text of the last NUMBER for messages, truncated if it is long. */
    public String shown() {
        return JsonNumbers.shown(window, tokenStart, tokenEnd);
    }

    /** The start of the last token in {@link #window()}. */
    public int tokenStart() {
        return tokenStart;
    }

    /** The end of the last token in {@link #window()}, exclusive. */
    public int tokenEnd() {
        return tokenEnd;
    }

    /**
     * Reads the next token.
     *
     * @throws JsonException if the document violates the grammar or a limit
     */
    public JsonToken next() {
        while (at < end && isSpace(window[at])) {
            at++;
        }
        if (at == end) {
            if (expect == Expect.NOTHING) {
                return JsonToken.END;
            }
            if (last) {
                throw failure("the document is incomplete");
            }
            return JsonToken.NEED_MORE;
        }
        byte c = window[at];
        return switch (expect) {
            case VALUE, VALUE_OR_END -> value(c);
            case KEY, KEY_OR_END -> key(c);
            case COLON -> punctuation(c, ':', Expect.VALUE);
            case COMMA_OR_END -> commaOrEnd(c);
            case NOTHING -> throw failure("the document is followed by more data");
        };
    }

    private JsonToken commaOrEnd(byte c) {
        if (c == (inObject() ? '}' : ']')) {
            return close();
        }
        return punctuation(c, ',', inObject() ? Expect.KEY : Expect.VALUE);
    }

    private boolean inObject() {
        return (objects >>> (depth - 1) & 1) != 0;
    }

    private JsonToken punctuation(byte c, char wanted, Expect then) {
        if (c != wanted) {
            throw failure("'" + wanted + "' is expected, got " + JsonException.shown(c));
        }
        at++;
        expect = then;
        return next();
    }

    private JsonToken key(byte c) {
        if (c == '}' && expect == Expect.KEY_OR_END) {
            return close();
        }
        if (c != '"') {
            throw failure("a member's name is expected, got " + JsonException.shown(c));
        }
        if (!string(limits.nameBytes())) {
            return JsonToken.NEED_MORE;
        }
        expect = Expect.COLON;
        return JsonToken.KEY;
    }

    private JsonToken value(byte c) {
        return switch (c) {
            case '{' -> open(true);
            case '[' -> open(false);
            case ']' -> {
                if (expect == Expect.VALUE_OR_END) {
                    yield close();
                }
                throw failure("a value is expected, got ']'");
            }
            case '"' -> string(maxString) ? after(JsonToken.STRING) : JsonToken.NEED_MORE;
            case 't' -> word("true", JsonToken.TRUE);
            case 'f' -> word("false", JsonToken.FALSE);
            case 'n' -> word("null", JsonToken.NULL);
            case 'N' -> word("NaN", JsonToken.NAN);
            case 'I' -> word("Infinity", JsonToken.POSITIVE_INFINITY);
            default -> number(c);
        };
    }

    private JsonToken open(boolean object) {
        if (depth == limits.jsonDepth()) {
            throw failure("at most " + limits.jsonDepth() + " levels are accepted");
        }
        long level = 1L << depth++;
        objects = object ? objects | level : objects & ~level;
        at++;
        expect = object ? Expect.KEY_OR_END : Expect.VALUE_OR_END;
        return object ? JsonToken.START_OBJECT : JsonToken.START_ARRAY;
    }

    private JsonToken close() {
        at++;
        boolean object = inObject();
        depth--;
        return after(object ? JsonToken.END_OBJECT : JsonToken.END_ARRAY);
    }

    private JsonToken after(JsonToken token) {
        expect = depth == 0 ? Expect.NOTHING : Expect.COMMA_OR_END;
        return token;
    }

    private JsonToken word(String word, JsonToken token) {
        int available = Math.min(word.length(), end - at);
        for (int i = 0; i < available; i++) {
            if (window[at + i] != word.charAt(i)) {
                throw failure("a value is expected, got " + JsonException.shown(window[at]));
            }
        }
        if (available < word.length()) {
            return incomplete();
        }
        tokenStart = at;
        at += word.length();
        tokenEnd = at;
        return after(token);
    }

    private JsonToken incomplete() {
        if (last) {
            throw failure("the document ends within a value");
        }
        return JsonToken.NEED_MORE;
    }

    private JsonToken number(byte first) {
        int i = at;
        if (first == '-' && i + 1 < end && window[i + 1] == 'I') {
            return word("-Infinity", JsonToken.NEGATIVE_INFINITY);
        }
        i += scanned;
        while (i < end && JsonNumberGrammar.isPart(window[i])) {
            i++;
        }
        if (i - at > limits.numberLength()) {
            throw failure("a number has more than " + limits.numberLength() + " characters");
        }
        if (i == end && !last) {
            scanned = i - at;
            return JsonToken.NEED_MORE;
        }
        scanned = 0;
        try {
            JsonNumberGrammar.require(window, at, i, end);
        } catch (JsonException e) {
            throw failure(e);
        }
        tokenStart = at;
        tokenEnd = i;
        at = i;
        return after(JsonToken.NUMBER);
    }

    /** Reads plain numbers that follow the last element of an array; returns how many. */
    public int run(NumberRun run, ByteBuf to) {
        if (expect != Expect.COMMA_OR_END || inObject() || limits.numberLength() < NumberRun.LONGEST) {
            return 0;
        }
        int count = run.read(window, at, end, to);
        at = run.position();
        return count;
    }

    /**
     * Skims the array just opened up to its closing bracket. Skips a number only if the comma or bracket after it has been
     * received, so that the number can be read if the scanner refuses.
     *
     * @return whether skimming continues or reached the closing bracket; if not, {@link #next()} reads what follows
     */
    public boolean skim(NumberScanner numbers) {
        int until = NumberScanner.lastSeparator(window, at, end);
        int from = at;
        numbers.mark();
        at = numbers.read(window, at, until);
        if (numbers.closed()) {
            expect = Expect.COMMA_OR_END;
            return true;
        }
        if (!numbers.refused() && !last && end - at <= NumberScanner.MAX_UNSEPARATED) {
            return true;
        }
        numbers.reset();
        for (int level = 1; level < numbers.level(); level++) {
            open(false);
        }
        at = from;
        expect = numbers.atArrayStart()
                ? Expect.VALUE_OR_END
                : numbers.afterComma() ? Expect.VALUE : Expect.COMMA_OR_END;
        return false;
    }

    private boolean string(int limit) {
        try {
            int close = strings.close(window, at, end, limit, last);
            if (close < 0) {
                return false;
            }
            tokenStart = at + 1;
            tokenEnd = close;
            at = close + 1;
            return true;
        } catch (JsonException e) {
            throw failure(e);
        }
    }

    /** The validated UTF-8 bytes of the last KEY or STRING; a view that the next feed invalidates. */
    public ByteBuffer utf8() {
        try {
            return strings.utf8(window, tokenStart, tokenEnd);
        } catch (JsonException e) {
            throw failure(e);
        }
    }

    /** The value of the last KEY or STRING. */
    public String text() {
        String frequent = FrequentStrings.find(window, tokenStart, tokenEnd);
        if (frequent != null) {
            return frequent;
        }
        if (strings.isPlain(window, tokenStart, tokenEnd)) {
            return new String(window, tokenStart, tokenEnd - tokenStart, StandardCharsets.ISO_8859_1);
        }
        ByteBuffer utf8 = utf8();
        return new String(utf8.array(), utf8.arrayOffset() + utf8.position(), utf8.remaining(), StandardCharsets.UTF_8);
    }

    private JsonException failure(JsonException e) {
        return failure(String.valueOf(e.getMessage()));
    }

    JsonException failure(String what) {
        return new JsonException("malformed JSON at byte " + (consumedBefore + at) + ": " + what);
    }

    private static boolean isSpace(byte c) {
        return c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }

    /** The grammar of a JSON number: a minus, an integer without leading zeros, a fraction, an exponent (RFC 8259, 6). */
    private static final class JsonNumberGrammar {
        private JsonNumberGrammar() {}

        static boolean isPart(byte c) {
            return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
        }

        /** Requires that the bytes from {@code from} to {@code to} are a number; the window has data up to {@code end}. */
        static void require(byte[] window, int from, int to, int end) {
            int i = from;
            if (i < to && window[i] == '-') {
                i++;
            }
            if (i < to && window[i] == '0') {
                i++;
            } else {
                i = digits(window, i, to, end);
            }
            if (i < to && window[i] == '.') {
                i = digits(window, i + 1, to, end);
            }
            if (i < to && (window[i] | 0x20) == 'e') {
                i++;
                if (i < to && (window[i] == '+' || window[i] == '-')) {
                    i++;
                }
                i = digits(window, i, to, end);
            }
            if (i < to) {
                throw new JsonException("'" + JsonNumbers.shown(window, from, to) + "' is not a number");
            }
        }

        private static int digits(byte[] window, int from, int to, int end) {
            int i = from;
            while (i < to && window[i] >= '0' && window[i] <= '9') {
                i++;
            }
            if (i == from) {
                throw new JsonException(
                        from < end
                                ? "a value is expected, got " + JsonException.shown(window[from])
                                : "a number is incomplete");
            }
            return i;
        }
    }
}
