package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.NumberScanner;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import org.jspecify.annotations.Nullable;

/**
 * Validates one tensor's {@code data} without reading its numbers: the nesting, the number of elements, and that all
 * are numbers. Data that it refuses may still be valid; {@link DataReader} decides.
 */
final class DataScanner extends TensorData {
    private @Nullable NumberScanner numbers;

    /** @param type one for which {@link #supports} is true */
    DataScanner(TensorCheck check, String tensor, DataType type, WireLimits limits, int outerDepth) {
        super(check, tensor, type, limits, outerDepth);
    }

    /** Whether a request's elements of this type may be skimmed: not integers, which servers silently convert. */
    static boolean supports(DataType type) {
        return type == DataType.FP32 || type == DataType.FP64;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        if (numbers == null) {
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (token != JsonToken.START_ARRAY) {
                throw refused();
            }
            numbers = NumberScanner.of(nesting, limits, outerDepth);
        }
        boolean closed = json.skim(numbers);
        if (numbers.refused() || nesting.count() > limits.bodyBytes() / type.size()) {
            throw refused();
        }
        // The closing bracket.
        return closed && json.next() == JsonToken.END_ARRAY;
    }

    private OipException refused() {
        return check.failure(tensor, "data: an array of " + type + " is expected, got something else");
    }
}
