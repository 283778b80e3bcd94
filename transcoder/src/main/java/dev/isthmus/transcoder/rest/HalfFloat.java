package dev.isthmus.transcoder.rest;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/** The two 16-bit floating-point formats as numbers: read to the nearest value, ties to even; written shortest. */
enum HalfFloat {
    FP16(0x7c00, 5),
    BF16(0x7f80, 4);

    private final int infinity;
    private final int enoughDigits;

    HalfFloat(int infinity, int enoughDigits) {
        this.infinity = infinity;
        this.enoughDigits = enoughDigits;
    }

    float toFloat(short bits) {
        return this == FP16 ? Float.float16ToFloat(bits) : Float.intBitsToFloat(bits << 16);
    }

    /** The value nearest to a float; ties to even. */
    private short nearest(float value) {
        if (this == FP16) {
            return Float.floatToFloat16(value);
        }
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) ((bits >>> 16) | 0x40);
        }
        return (short) ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
    }

    /** The value nearest to a double; ties to even. Beyond the largest value: an infinity. */
    short nearest(double value) {
        float rounded = (float) value;
        if (rounded == value || Double.isNaN(value) || Float.isInfinite(rounded)) {
            return nearest(rounded);
        }
        // Cut off instead of rounded, with the last bit telling that something was cut off: rounding once more is
        // exact.
        int bits = Float.floatToRawIntBits(rounded);
        int cut = Math.abs((double) rounded) > Math.abs(value) ? bits - 1 : bits;
        return nearest(Float.intBitsToFloat(cut | 1));
    }

    /** The value nearest to a number as it is written; ties to even. */
    short nearest(JsonNumbers number) {
        double value = number.toDouble();
        short bits = nearest(value);
        float rounded = (float) value;
        // Only a double that may lie exactly between two values can hide on which side the number itself lies.
        if (rounded == value && toFloat(bits) != rounded && !number.extreme()) {
            return nearest(number.toDecimal(), value);
        }
        return bits;
    }

    private short nearest(BigDecimal exact, double around) {
        int side = exact.compareTo(new BigDecimal(around));
        return nearest(side == 0 ? around : side < 0 ? Math.nextDown(around) : Math.nextUp(around));
    }

    boolean isFinite(short bits) {
        return (bits & infinity) != infinity;
    }

    /** The shortest decimal that reads back to these bits; for finite values. */
    String toString(short bits) {
        float value = toFloat(bits);
        if (value == 0) {
            return bits < 0 ? "-0.0" : "0.0";
        }
        BigDecimal exact = new BigDecimal(value);
        for (int digits = 1; digits < enoughDigits; digits++) {
            double rounded =
                    exact.round(new MathContext(digits, RoundingMode.HALF_EVEN)).doubleValue();
            if (nearest(rounded) == bits) {
                return Double.toString(rounded);
            }
        }
        return Double.toString(exact.round(new MathContext(enoughDigits, RoundingMode.HALF_EVEN))
                .doubleValue());
    }
}
