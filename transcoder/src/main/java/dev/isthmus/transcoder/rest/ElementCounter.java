package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.NumberScanner;
import dev.isthmus.transcoder.message.TensorCheck;
import org.jspecify.annotations.Nullable;

/**
 * Counts the elements of one tensor's {@code data} that is passed through, and checks its nesting as {@link DataReader}
 * does. Numbers are skimmed by a {@link NumberScanner} until it refuses. A request is then refused, too: it may still be
 * valid, {@link DataReader} decides. The elements of a response are not checked: servers write null for non-finite
 * numbers.
 */
final class ElementCounter extends TensorData {
    private final ReaderState state;
    /** Whether numbers are expected and no array has been opened yet. */
    private boolean skims;

    private @Nullable NumberScanner numbers;

    ElementCounter(ReaderState state, TensorCheck check, String tensor, DataType type, int outerDepth) {
        super(state, check, tensor, type, outerDepth);
        this.state = state;
        this.skims = type != DataType.BYTES && type != DataType.BOOL;
    }

    /** Whether a request's elements of this type may be skimmed: not integers, which servers silently convert. */
    static boolean skims(DataType type) {
        return type == DataType.FP32 || type == DataType.FP64;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        NumberScanner skim = numbers;
        if (skim == null) {
            return count(json);
        }
        boolean skimmed = json.skim(skim);
        if (state.request && (!skimmed || nesting.count() > state.limits.bodyBytes() / type.size())) {
            throw refused();
        }
        if (skimmed) {
            // The closing bracket.
            return skim.closed() && json.next() == JsonToken.END_ARRAY;
        }
        numbers = null;
        return count(json);
    }

    private OipException refused() {
        return check.failure(tensor, "data: an array of " + type + " is expected, got something else");
    }

    private boolean count(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            int level = json.depth() - outerDepth;
            if (state.request && token != JsonToken.NEED_MORE && token != JsonToken.START_ARRAY) {
                throw refused();
            }
            switch (token) {
                case NEED_MORE -> {
                    return false;
                }
                case START_ARRAY -> {
                    if (skims) {
                        skims = false;
                        numbers = state.scratch().numbers.begin(state.limits, outerDepth);
                        return read(json);
                    }
                    nesting.open(level, type == DataType.BYTES);
                }
                case END_ARRAY -> {
                    nesting.close(level + 1);
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
                        nesting.element(level, type == DataType.BYTES && token == JsonToken.NUMBER && level > 1);
                    }
                    if (level == 0) {
                        return true;
                    }
                }
            }
        }
    }
}
