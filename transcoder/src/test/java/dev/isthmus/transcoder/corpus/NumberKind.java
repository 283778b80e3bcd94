package dev.isthmus.transcoder.corpus;

import java.math.BigDecimal;
import java.util.SplittableRandom;

/** Kinds of number texts, including those that are hard to parse. */
enum NumberKind {
    /** Any finite float. */
    FLOAT_BITS,
    DOUBLE_BITS,
    /** Floats between -1 and 1, as in models. */
    ACTIVATION,
    /** Any number of digits, with the point and an exponent anywhere. */
    DECIMAL,
    /** Half-way between two floats, or next to it, by the last digit or by one far to the right. */
    FLOAT_HALF,
    DOUBLE_HALF,
    /** 25 digits before the point and 25 after it. */
    LONG,
    /** The smallest and the largest floats and doubles. */
    EXTREME,
    HALF_PRECISION,
    /** Half-way between two FP16 values. */
    FP16_HALF,
    BF16_HALF;

    /** A finite number of this kind in JSON's grammar, of at most 200 characters. */
    String next(SplittableRandom random) {
        String text = switch (this) {
            case FLOAT_BITS -> Float.toString(Float.intBitsToFloat(random.nextInt()));
            case DOUBLE_BITS -> Double.toString(Double.longBitsToDouble(random.nextLong()));
            case ACTIVATION -> Float.toString((float) random.nextDouble(-1, 1));
            case DECIMAL -> decimal(random);
            case FLOAT_HALF -> floatHalf(random);
            case DOUBLE_HALF -> doubleHalf(random);
            case LONG -> digits(random, 25) + "." + digits(random, 25);
            case EXTREME -> extreme(random);
            case HALF_PRECISION -> Float.toString(Float.float16ToFloat((short) random.nextInt()));
            case FP16_HALF -> fp16Half(random);
            case BF16_HALF -> bf16Half(random);
        };
        return text.startsWith("NaN") || text.endsWith("Infinity") || text.length() > 200 ? next(random) : text;
    }

    private static String digits(SplittableRandom random, int count) {
        StringBuilder digits = new StringBuilder().append((char) ('1' + random.nextInt(9)));
        while (digits.length() < count) {
            digits.append((char) ('0' + random.nextInt(10)));
        }
        return digits.toString();
    }

    private static String decimal(SplittableRandom random) {
        StringBuilder text = new StringBuilder(random.nextBoolean() ? "-" : "");
        text.append(random.nextInt(3) == 0 ? "0" : digits(random, 1 + random.nextInt(20)));
        if (random.nextInt(4) > 0) {
            text.append('.').append("0".repeat(random.nextInt(4) == 0 ? random.nextInt(30) : 0));
            text.append(digits(random, 1 + random.nextInt(20)));
        }
        if (random.nextInt(3) == 0) {
            text.append(random.nextBoolean() ? "e" : "E").append(random.nextInt(-60, 38));
        }
        return text.toString();
    }

    private static String floatHalf(SplittableRandom random) {
        float below = Float.intBitsToFloat(random.nextInt(0x2000_0000, 0x6000_0000));
        return around(new BigDecimal(below).add(new BigDecimal(Math.nextUp(below))), random);
    }

    private static String doubleHalf(SplittableRandom random) {
        double below = Double.longBitsToDouble(random.nextLong(0x3c00_0000_0000_0000L, 0x4400_0000_0000_0000L));
        return around(new BigDecimal(below).add(new BigDecimal(Math.nextUp(below))), random);
    }

    private static String fp16Half(SplittableRandom random) {
        int bits = random.nextInt(0x7bff);
        double sum = (double) Float.float16ToFloat((short) bits) + Float.float16ToFloat((short) (bits + 1));
        return around(new BigDecimal(sum), random);
    }

    private static String bf16Half(SplittableRandom random) {
        int bits = random.nextInt(0x7f7f);
        double sum = (double) Float.intBitsToFloat(bits << 16) + Float.intBitsToFloat((bits + 1) << 16);
        return around(new BigDecimal(sum), random);
    }

    private static String around(BigDecimal twice, SplittableRandom random) {
        BigDecimal half = twice.divide(BigDecimal.valueOf(2));
        BigDecimal last = half.ulp();
        return switch (random.nextInt(5)) {
            case 0 -> half.toPlainString();
            case 1 -> half.toString();
            case 2 -> half.add(last).toString();
            case 3 -> half.subtract(last).toString();
            default -> half.add(last.movePointLeft(random.nextInt(20))).toPlainString();
        };
    }

    private static String extreme(SplittableRandom random) {
        boolean least = random.nextBoolean();
        if (random.nextBoolean()) {
            int exponent = least ? random.nextInt(2) : 253 + random.nextInt(2);
            return Float.toString(Float.intBitsToFloat(exponent << 23 | random.nextInt() >>> 9));
        }
        long exponent = least ? random.nextInt(2) : 2045 + random.nextInt(2);
        return Double.toString(Double.longBitsToDouble(exponent << 52 | random.nextLong() >>> 12));
    }
}
