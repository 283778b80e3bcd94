package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.ValueReader;
import dev.isthmus.transcoder.number.JsonNumbers;
import java.util.Arrays;

/** Reads a tensor's {@code shape}. */
final class ShapeReader implements ValueReader {
    /** The most dimensions of nearly all tensors. */
    private static final int FEW = 4;

    private final TensorBuilder tensor;
    private final JsonNumbers number = new JsonNumbers();
    private long[] extents = new long[FEW];
    private boolean opened;
    private int rank;

    ShapeReader(TensorBuilder tensor) {
        this.tensor = tensor;
    }

    @Override
    public boolean read(JsonTokenizer json) {
        while (true) {
            JsonToken token = json.next();
            if (token == JsonToken.NEED_MORE) {
                return false;
            }
            if (!opened) {
                open(token);
            } else if (token == JsonToken.END_ARRAY) {
                tensor.shape(Shape.of(Arrays.copyOf(extents, rank)));
                return true;
            } else {
                extent(token, json);
            }
        }
    }

    private void open(JsonToken token) {
        if (token != JsonToken.START_ARRAY) {
            throw tensor.check().failure(tensor.name(), "shape: an array is expected, got " + token);
        }
        opened = true;
    }

    private void extent(JsonToken token, JsonTokenizer json) {
        if (token == JsonToken.NUMBER) {
            number.read(json.window(), json.tokenStart(), json.tokenEnd());
        }
        if (token != JsonToken.NUMBER || number.hasFraction() || !number.isInteger(true, 64)) {
            throw tensor.check()
                    .failure(
                            tensor.name(),
                            "shape: integers are expected, got "
                                    + (token == JsonToken.NUMBER ? number.shown() : token.toString()));
        }
        if (rank == Shape.MAX_RANK) {
            throw tensor.check()
                    .failure(tensor.name(), "shape: at most " + Shape.MAX_RANK + " dimensions are accepted");
        }
        if (rank == extents.length) {
            extents = Arrays.copyOf(extents, 2 * rank);
        }
        extents[rank++] = number.integer();
    }
}
