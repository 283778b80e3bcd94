package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;

/**
 * How far two floating-point elements may differ and still count as equal, as NumPy's {@code allclose} has it: by at
 * most {@code atol + rtol * |first|}. Elements of other datatypes must be equal.
 *
 * @param rtol relative to the first element
 * @param atol absolute
 */
public record FloatTolerance(double rtol, double atol) {
    /** Elements must be equal. */
    public static final FloatTolerance NONE = new FloatTolerance(0, 0);

    /** Whether a compared output is equal within the tolerance; the responses are borrowed. */
    public boolean accepts(OutputComparison output, InferResponse first, InferResponse second) {
        return output.equal()
                || (output instanceof OutputComparison.Numbers numbers
                        && isFloat(numbers.dataType())
                        && accepts(named(first, numbers.name()), named(second, numbers.name())));
    }

    private static boolean isFloat(DataType type) {
        return switch (type) {
            case FP16, BF16, FP32, FP64 -> true;
            case BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, BYTES -> false;
        };
    }

    private static Tensor named(InferResponse response, String output) {
        return response.outputs().stream()
                .filter(each -> each.name().equals(output))
                .findFirst()
                .orElseThrow();
    }

    private boolean accepts(Tensor first, Tensor second) {
        DataType type = first.dataType();
        int a = first.data().readerIndex();
        int b = second.data().readerIndex();
        for (int at = 0; at < first.data().readableBytes(); at += type.size()) {
            long keyA = NumberKey.read(type, first.data(), a + at);
            long keyB = NumberKey.read(type, second.data(), b + at);
            double value = NumberKey.value(type, keyA);
            // An infinite first element accepts only itself.
            boolean equal = keyA == keyB
                    || (Double.isFinite(value)
                            && NumberKey.difference(type, keyA, keyB) <= atol + rtol * Math.abs(value));
            if (!equal) {
                return false;
            }
        }
        return true;
    }
}
