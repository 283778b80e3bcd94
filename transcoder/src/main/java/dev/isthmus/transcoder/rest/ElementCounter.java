package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.NumberScanner;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import org.jspecify.annotations.Nullable;

/**
 * Counts the elements of one tensor's {@code data} that is passed through, and checks its nesting as {@link DataReader}
 * does. The elements themselves are not checked: servers write null for non-finite numbers. Numbers are skimmed by a
 * {@link NumberScanner} until it refuses.
 */
final class ElementCounter extends TensorData {
    private final boolean bytes;
    /** Whether numbers are expected and no array has been opened yet. */
    private boolean skims;

    private @Nullable NumberScanner numbers;
    /** Whether the open array is a BYTES element. */
    private boolean octets;

    ElementCounter(TensorCheck check, String tensor, DataType type, WireLimits limits, int outerDepth) {
        super(check, tensor, type, limits, outerDepth);
        this.bytes = type == DataType.BYTES;
        this.skims = !bytes && type != DataType.BOOL;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        NumberScanner skim = numbers;
        if (skim == null) {
            return count(json);
        }
        if (json.skimWhole(skim)) {
            // The closing bracket.
            return skim.closed() && json.next() == JsonToken.END_ARRAY;
        }
        numbers = null;
        return count(json);
    }

    private boolean count(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            int level = json.depth() - outerDepth;
            switch (token) {
                case NEED_MORE -> {
                    return false;
                }
                case START_ARRAY -> {
                    if (skims) {
                        skims = false;
                        numbers = NumberScanner.of(nesting, limits, outerDepth);
                        return read(json);
                    }
                    open(level);
                }
                case END_ARRAY -> {
                    close(level + 1);
                    if (level == 0) {
                        return true;
                    }
                }
                case START_OBJECT, END_OBJECT, KEY, END ->
                    throw check.failure(tensor, "data: an array is expected, got an object");
                case STRING, NUMBER, TRUE, FALSE, NULL, NAN, POSITIVE_INFINITY, NEGATIVE_INFINITY -> {
                    if (token == JsonToken.STRING) {
                        json.utf8();
                    }
                    if (level > 0 || token != JsonToken.NULL) {
                        element(level, token == JsonToken.NUMBER && bytes && level > 1);
                    }
                    if (level == 0) {
                        return true;
                    }
                }
            }
        }
    }

    private void open(int level) {
        if (octets) {
            throw nesting.ragged();
        }
        nesting.open(level, bytes);
    }

    private void close(int level) {
        if (octets) {
            octets = false;
        } else {
            nesting.close(level);
        }
    }

    private void element(int level, boolean octet) {
        if (octet && !octets) {
            nesting.element(level);
            octets = true;
        } else if (!octet && octets) {
            throw nesting.ragged();
        } else if (!octet) {
            nesting.elements(level, 1);
        }
    }
}
