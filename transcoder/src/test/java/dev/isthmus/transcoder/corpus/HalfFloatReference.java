package dev.isthmus.transcoder.corpus;

import dev.isthmus.oip.DataType;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/** Slow reference implementation of the two 16-bit floats in exact arithmetic: a table of all non-negative values. */
enum HalfFloatReference {
    FP16(10, 15),
    BF16(7, 127);

    /** Values by their bits, followed by the value that would come next if there were no infinity. */
    @SuppressWarnings("ImmutableEnumChecker")
    private final double[] values;

    HalfFloatReference(int fractionBits, int bias) {
        values = new double[((2 * bias + 1) << fractionBits) + 1];
        int one = 1 << fractionBits;
        for (int bits = 0; bits < values.length; bits++) {
            int exponent = bits >>> fractionBits;
            int fraction = bits & (one - 1);
            values[bits] = Math.scalb(
                    (double) (exponent == 0 ? fraction : fraction + one), Math.max(exponent, 1) - bias - fractionBits);
        }
    }

    static HalfFloatReference of(DataType type) {
        return type == DataType.FP16 ? FP16 : BF16;
    }

    boolean isFinite(String text) {
        return (read(text) & 0x7fff) < values.length - 1;
    }

    /** The bits of the value nearest to a number, ties to even. */
    short read(String text) {
        int sign = text.startsWith("-") ? 0x8000 : 0;
        return (short) (sign | nearest(new BigDecimal(text).abs()));
    }

    private int nearest(BigDecimal number) {
        int below = 0;
        int above = values.length - 1;
        if (number.compareTo(exact(above)) >= 0) {
            return above;
        }
        while (above - below > 1) {
            int middle = (below + above) >>> 1;
            if (number.compareTo(exact(middle)) >= 0) {
                below = middle;
            } else {
                above = middle;
            }
        }
        int side = number.add(number).compareTo(exact(below).add(exact(above)));
        return side < 0 || (side == 0 && (below & 1) == 0) ? below : above;
    }

    private BigDecimal exact(int bits) {
        return new BigDecimal(values[bits]);
    }

    /** The shortest decimal that parses to these bits, the nearest of several, in Java's format. */
    String text(short bits) {
        int magnitude = bits & 0x7fff;
        String sign = bits < 0 ? "-" : "";
        return sign + Double.toString(magnitude == 0 ? 0 : shortest(magnitude).doubleValue());
    }

    private BigDecimal shortest(int bits) {
        BigDecimal exact = exact(bits);
        for (int digits = 1; ; digits++) {
            BigDecimal down = exact.round(new MathContext(digits, RoundingMode.DOWN));
            BigDecimal up = exact.round(new MathContext(digits, RoundingMode.UP));
            boolean downReads = nearest(down) == bits;
            boolean upReads = nearest(up) == bits;
            if (downReads && upReads) {
                return exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
            }
            if (downReads || upReads) {
                return downReads ? down : up;
            }
        }
    }
}
