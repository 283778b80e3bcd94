package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import java.math.BigDecimal;

/**
 * Conversion of the two 16-bit floating-point formats: to the nearest value, ties to even, and to the shortest text.
 */
public enum HalfFloat {
    FP16(10, -24),
    BF16(7, -133);

    private final int fractionBits;
    private final int minPower;
    private final int fraction;
    private final int infinity;

    /** @param minPower the exponent of two of the smallest value */
    HalfFloat(int fractionBits, int minPower) {
        this.fractionBits = fractionBits;
        this.minPower = minPower;
        this.fraction = (1 << fractionBits) - 1;
        this.infinity = 0x7fff & ~fraction;
    }

    /**
     * The format of a datatype.
     *
     * @param type FP16 or BF16
     */
    public static HalfFloat of(DataType type) {
        return type == DataType.FP16 ? FP16 : BF16;
    }

    /** The value as a float, which is exact. */
    public float toFloat(short bits) {
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

    /** The value nearest to a double, ties to even; an infinity beyond the largest value. */
    public short nearest(double value) {
        float rounded = (float) value;
        if (rounded == value || Double.isNaN(value) || Float.isInfinite(rounded)) {
            return nearest(rounded);
        }
        // Truncated instead of rounded, with the last bit set to mark it as inexact, so that the second rounding is
        // correct.
        int bits = Float.floatToRawIntBits(rounded);
        int cut = Math.abs((double) rounded) > Math.abs(value) ? bits - 1 : bits;
        return nearest(Float.intBitsToFloat(cut | 1));
    }

    /** The value nearest to a decimal number, ties to even. */
    public short nearest(JsonNumbers number) {
        double value = number.toDouble();
        short bits = nearest(value);
        float rounded = (float) value;
        // Only a double that may be exactly halfway between two values can hide on which side the decimal number is.
        if (rounded == value && toFloat(bits) != rounded && !number.extreme()) {
            return nearest(number.toDecimal(), value);
        }
        return bits;
    }

    private short nearest(BigDecimal exact, double around) {
        int side = exact.compareTo(new BigDecimal(around));
        return nearest(side == 0 ? around : side < 0 ? Math.nextDown(around) : Math.nextUp(around));
    }

    /** Whether it is neither NaN nor infinite. */
    public boolean isFinite(short bits) {
        return (bits & infinity) != infinity;
    }

    /**
     * The shortest decimal that reads back to these bits, as {@link DecimalText#nine}.
     *
     * @param bits the bits of a finite value
     */
    long decimal(short bits) {
        long sign = bits & DecimalText.MINUS;
        int below = bits & fraction;
        int biased = (bits & infinity) >>> fractionBits;
        if (biased == 0) {
            return sign | (below == 0 ? DecimalText.ZERO : FloatDecimal.shortest(below, minPower, false));
        }
        int significand = below | 1 << fractionBits;
        return sign | FloatDecimal.shortest(significand, minPower + biased - 1, below == 0 && biased > 1);
    }
}
