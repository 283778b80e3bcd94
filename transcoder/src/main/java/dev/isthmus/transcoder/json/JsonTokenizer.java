package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.number.JsonNumbers;
import dev.isthmus.transcoder.number.NumberRun;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A strict JSON tokenizer (RFC 8259) that is fed a document in chunks. A token that is not complete yet stays where it is
 * and is looked at again when more has come, so that every token is contiguous when it is given out. Beyond the RFC only the
 * number words that Triton writes are known: NaN, Infinity and -Infinity.
 */
public final class JsonTokenizer {

    public enum Token {
        START_OBJECT,
        END_OBJECT,
        START_ARRAY,
        END_ARRAY,
        /** A member's name; {@link #text()} has it. */
        KEY,
        STRING,
        /** A number; {@link #tokenStart()} and {@link #tokenEnd()} say where it stands. */
        NUMBER,
        NAN,
        POSITIVE_INFINITY,
        NEGATIVE_INFINITY,
        TRUE,
        FALSE,
        NULL,
        /** Nothing complete is left: feed more, or end. */
        NEED_MORE,
        /** The document is complete. */
        END
    }

    /** Breaks of the grammar; the message says what and where. */
    public static final class JsonException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        JsonException(String message) {
            super(message, null, false, false);
        }
    }

    private enum Expect {
        VALUE,
        VALUE_OR_END,
        KEY,
        KEY_OR_END,
        COLON,
        COMMA_OR_END,
        NOTHING
    }

    /** A number, with white space around it, that is longer is not skimmed. */
    private static final int MOST_UNSEPARATED = 128;

    /** Room for what is left of a part when the next comes. */
    private static final int SPARE = 256;

    private final WireLimits limits;
    private byte[] window;
    private int at;
    private int end;
    private long consumedBefore;
    private boolean last;

    private boolean[] objects = new boolean[8];
    private int depth;
    private Expect expect = Expect.VALUE;

    private int tokenStart;
    private int tokenEnd;
    /** Bytes of the number that comes next, of which more was needed. */
    private int scanned;

    private final JsonStrings strings = new JsonStrings();

    public JsonTokenizer(WireLimits limits) {
        this.limits = limits;
        this.window = new byte[0];
    }

    /**
     * A tokenizer of a complete document.
     *
     * @param text not copied; {@link NumberRun#PADDING} is behind it
     */
    static JsonTokenizer of(WireLimits limits, byte[] text, int from, int to) {
        JsonTokenizer json = new JsonTokenizer(limits);
        json.window = text;
        json.consumedBefore = -from;
        json.at = from;
        json.end = to;
        json.last = true;
        return json;
    }

    /** Adds the next part of the document: so many bytes from there on (borrowed; its indices are not moved). */
    public void feed(ByteBuf chunk, int from, int length) {
        if (end + length + NumberRun.PADDING > window.length) {
            makeRoom(length);
        }
        chunk.getBytes(from, window, end, length);
        end += length;
    }

    /** Moves what is left to the front; where that is much, into a larger window, so that it is moved seldom. */
    private void makeRoom(int length) {
        int kept = end - at;
        int needed = kept + length + NumberRun.PADDING;
        byte[] to = needed > window.length ? new byte[needed + Math.max(kept, at == 0 ? 0 : SPARE)] : window;
        System.arraycopy(window, at, to, 0, kept);
        window = to;
        consumedBefore += at;
        at = 0;
        end = kept;
    }

    /** Forgets what was fed; nothing more is read. */
    public void release() {
        window = new byte[0];
        at = 0;
        end = 0;
    }

    /** Says that nothing more comes: a token at the end is complete. */
    public void last() {
        last = true;
    }

    public int depth() {
        return depth;
    }

    /** The bytes that tokens are read from; valid until the next {@link #feed}. */
    public byte[] window() {
        return window;
    }

    /** Where the next token will be looked for, in {@link #window()}. */
    public int position() {
        return at;
    }

    /** The NUMBER or word just given, as it is written. */
    public String token() {
        return new String(window, tokenStart, tokenEnd - tokenStart, StandardCharsets.US_ASCII);
    }

    /** The NUMBER just given, or its beginning, for messages. */
    public String shown() {
        return JsonNumbers.shown(window, tokenStart, tokenEnd);
    }

    public int tokenStart() {
        return tokenStart;
    }

    public int tokenEnd() {
        return tokenEnd;
    }

    public Token next() {
        while (at < end && isSpace(window[at])) {
            at++;
        }
        if (at == end) {
            if (expect == Expect.NOTHING) {
                return Token.END;
            }
            if (last) {
                throw failure("the document ends too early");
            }
            return Token.NEED_MORE;
        }
        byte c = window[at];
        return switch (expect) {
            case VALUE, VALUE_OR_END -> value(c);
            case KEY, KEY_OR_END -> key(c);
            case COLON -> punctuation(c, ':', Expect.VALUE);
            case COMMA_OR_END -> commaOrEnd(c);
            case NOTHING -> throw failure("something follows the document");
        };
    }

    private Token commaOrEnd(byte c) {
        if (c == (objects[depth - 1] ? '}' : ']')) {
            return close();
        }
        return punctuation(c, ',', objects[depth - 1] ? Expect.KEY : Expect.VALUE);
    }

    private Token punctuation(byte c, char wanted, Expect then) {
        if (c != wanted) {
            throw failure("'" + wanted + "' is expected, got " + shown(c));
        }
        at++;
        expect = then;
        return next();
    }

    private Token key(byte c) {
        if (c == '}' && expect == Expect.KEY_OR_END) {
            return close();
        }
        if (c != '"') {
            throw failure("a member's name is expected, got " + shown(c));
        }
        if (!string(limits.nameBytes())) {
            return Token.NEED_MORE;
        }
        expect = Expect.COLON;
        return Token.KEY;
    }

    private Token value(byte c) {
        switch (c) {
            case '{' -> {
                return open(true);
            }
            case '[' -> {
                return open(false);
            }
            case ']' -> {
                if (expect == Expect.VALUE_OR_END) {
                    return close();
                }
                throw failure("a value is expected, got ']'");
            }
            case '"' -> {
                return string(limits.stringBytes()) ? after(Token.STRING) : Token.NEED_MORE;
            }
            case 't' -> {
                return word("true", Token.TRUE);
            }
            case 'f' -> {
                return word("false", Token.FALSE);
            }
            case 'n' -> {
                return word("null", Token.NULL);
            }
            case 'N' -> {
                return word("NaN", Token.NAN);
            }
            case 'I' -> {
                return word("Infinity", Token.POSITIVE_INFINITY);
            }
            default -> {
                return number(c);
            }
        }
    }

    private Token open(boolean object) {
        if (depth == limits.jsonDepth()) {
            throw failure("at most " + limits.jsonDepth() + " levels are taken");
        }
        if (depth == objects.length) {
            objects = Arrays.copyOf(objects, 2 * depth);
        }
        objects[depth++] = object;
        at++;
        expect = object ? Expect.KEY_OR_END : Expect.VALUE_OR_END;
        return object ? Token.START_OBJECT : Token.START_ARRAY;
    }

    private Token close() {
        at++;
        boolean object = objects[--depth];
        return after(object ? Token.END_OBJECT : Token.END_ARRAY);
    }

    private Token after(Token token) {
        expect = depth == 0 ? Expect.NOTHING : Expect.COMMA_OR_END;
        return token;
    }

    private Token word(String word, Token token) {
        int available = Math.min(word.length(), end - at);
        for (int i = 0; i < available; i++) {
            if (window[at + i] != word.charAt(i)) {
                throw failure("a value is expected, got " + shown(window[at]));
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

    private Token incomplete() {
        if (last) {
            throw failure("the document ends within a value");
        }
        return Token.NEED_MORE;
    }

    private Token number(byte first) {
        int i = at;
        if (first == '-' && i + 1 < end && window[i + 1] == 'I') {
            return word("-Infinity", Token.NEGATIVE_INFINITY);
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
            return Token.NEED_MORE;
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
        return after(Token.NUMBER);
    }

    /** Reads plain numbers that follow in the array whose element was just given; says how many. */
    public int run(NumberRun run, ByteBuf to) {
        if (expect != Expect.COMMA_OR_END || objects[depth - 1] || limits.numberLength() < NumberRun.LONGEST) {
            return 0;
        }
        int count = run.read(window, at, end, to);
        at = run.position();
        return count;
    }

    /** Steps over the array that was just opened, to its closing bracket; false where more must be fed, or it refused. */
    public boolean skim(NumberScanner numbers) {
        at = numbers.read(window, at, end);
        if (numbers.closed()) {
            expect = Expect.COMMA_OR_END;
        } else if (last) {
            throw failure("the document ends within an array");
        }
        return numbers.closed();
    }

    /**
     * As {@link #skim}, but a number is stepped over only where it is followed by a comma or a bracket already, so that nothing
     * is lost when it refuses.
     *
     * @return whether it goes on, or has come to the closing bracket; where not, {@link #next()} gives what follows
     */
    public boolean skimWhole(NumberScanner numbers) {
        int until = separated();
        int from = at;
        numbers.mark();
        at = numbers.read(window, at, until);
        if (numbers.closed()) {
            expect = Expect.COMMA_OR_END;
            return true;
        }
        if (!numbers.refused() && !last && end - at <= MOST_UNSEPARATED) {
            return true;
        }
        numbers.reset();
        for (int level = 1; level < numbers.level(); level++) {
            open(false);
        }
        at = from;
        expect = numbers.opening() ? Expect.VALUE_OR_END : numbers.comma() ? Expect.VALUE : Expect.COMMA_OR_END;
        return false;
    }

    /** Behind the last comma or bracket that has come. */
    private int separated() {
        for (int i = end; i > at && i > end - MOST_UNSEPARATED; i--) {
            byte c = window[i - 1];
            if (c == ',' || c == ']' || c == '[') {
                return i;
            }
        }
        return at;
    }

    private boolean string(int limit) {
        try {
            int close = strings.close(window, at, end);
            if (close < 0) {
                requireUnfinished(limit);
                return false;
            }
            tokenStart = at + 1;
            tokenEnd = close;
            if (strings.exceeds(limit, window, tokenStart, tokenEnd)) {
                throw new JsonException("a string has more than " + limit + " bytes");
            }
            at = close + 1;
            return true;
        } catch (JsonException e) {
            throw failure(e);
        }
    }

    /** That a string whose end has not come may go on; six bytes of it, an escape, make one at the least. */
    private void requireUnfinished(int limit) {
        if (strings.scanned() > 6L * limit + 2) {
            throw new JsonException("a string has more than " + limit + " bytes");
        }
        if (last) {
            throw new JsonException("the document ends within a string");
        }
    }

    /** The UTF-8 bytes of the KEY or STRING just given, checked; a view of an array that the next feed invalidates. */
    public ByteBuffer utf8() {
        try {
            return strings.utf8(window, tokenStart, tokenEnd);
        } catch (JsonException e) {
            throw failure(e);
        }
    }

    public String text() {
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

    static String shown(byte c) {
        return c > 0x20 && c < 0x7f ? "'" + (char) c + "'" : String.format("byte 0x%02x", c);
    }
}
