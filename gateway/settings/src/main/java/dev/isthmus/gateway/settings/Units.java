package dev.isthmus.gateway.settings;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Parses and formats durations, sizes and shares. The parsing methods return null for invalid text. */
public final class Units {
    /** As in Go and Prometheus: a sum of amounts with units. With any number of them a long text would fill the stack. */
    static final String DURATION_OR_ZERO = "([0-9]{1,9}(\\.[0-9]{1,9})?(ms|s|m|h|d)){1,9}";

    static final String DURATION = "(?=.*[1-9])" + DURATION_OR_ZERO;
    static final String SIZE = "[0-9]{1,10}(B|KiB|MiB|GiB)?";
    static final String SHARE = "(100(\\.0{1,6})?|[0-9]{1,2}(\\.[0-9]{1,6})?)%";
    static final int MAX_SIZE = 1 << 30;
    private static final Pattern PART = Pattern.compile("([0-9.]+)([a-z]+)");
    private static final Pattern DECIMAL_SIZE = Pattern.compile("([0-9]{1,9}) ?([kKmMgG])[iI]?[bB]?");
    private static final Pattern AMOUNT = Pattern.compile("([0-9]+)([A-Za-z]*)");
    private static final Duration MAX_DURATION = Duration.ofDays(7);
    private static final int MINUTE = 60;
    private static final int HOUR = 3600;
    private static final int DAY = 24 * HOUR;
    private static final BigDecimal MILLIS = BigDecimal.valueOf(1000);

    private Units() {}

    /** Formats a duration: {@code 500ms}, {@code 60s}, {@code 5m}, {@code 2h}. */
    public static String written(Duration duration) {
        long seconds = duration.toSeconds();
        if (!duration.equals(Duration.ofSeconds(seconds))) {
            return duration.toMillis() + "ms";
        }
        if (seconds >= HOUR && seconds % HOUR == 0) {
            return seconds / HOUR + "h";
        }
        return seconds > MINUTE && seconds % MINUTE == 0 ? seconds / MINUTE + "m" : seconds + "s";
    }

    /** Formats a size: {@code 64MiB}. */
    public static String size(int bytes) {
        int shift = Math.min(30, Integer.numberOfTrailingZeros(bytes) / 10 * 10);
        return (bytes >> shift)
                + switch (shift) {
                    case 10 -> "KiB";
                    case 20 -> "MiB";
                    case 30 -> "GiB";
                    default -> "B";
                };
    }

    /** Formats a share: {@code 0.5%}. */
    public static String share(double share) {
        return BigDecimal.valueOf(share).movePointRight(2).stripTrailingZeros().toPlainString() + "%";
    }

    /** Parses a duration of more than zero and at most seven days: {@code 1m30s}; null for anything else. */
    public static @Nullable Duration duration(String text) {
        return readDuration(text, false);
    }

    static @Nullable Duration readDuration(String text, boolean orZero) {
        if (!text.matches(orZero ? DURATION_OR_ZERO : DURATION)) {
            return null;
        }
        BigDecimal millis = millis(text);
        if (!whole(millis) || millis.compareTo(BigDecimal.valueOf(MAX_DURATION.toMillis())) > 0) {
            return null;
        }
        return Duration.ofMillis(millis.longValueExact());
    }

    /** Why a text is not a duration: ", which ..."; empty if it is nothing like one. */
    static String durationProblem(String text) {
        if (text.matches(DURATION_OR_ZERO)) {
            return durationProblem(millis(text));
        }
        if (text.matches("-.+")) {
            return ", which is negative";
        }
        if (text.matches("[0-9.]+")) {
            return ", which has no unit: ms, s, m, h or d";
        }
        return text.matches("[0-9.]+[^0-9. ]+") ? ", whose unit is not one of ms, s, m, h, d" : "";
    }

    /** What may be meant by a text that is no size. */
    static String sizeProblem(String text) {
        Matcher decimal = DECIMAL_SIZE.matcher(text);
        String meant = decimal.matches() ? decimal.group(1) + decimal.group(2).toUpperCase(Locale.ROOT) + "iB" : "";
        return readSize(meant) == null ? "" : " - did you mean '" + meant + "'?";
    }

    private static String durationProblem(BigDecimal millis) {
        if (millis.signum() == 0) {
            return ", which is zero: more than zero is expected here";
        }
        return whole(millis) ? ", which is more than 7d" : ", which is not a whole number of milliseconds";
    }

    private static boolean whole(BigDecimal number) {
        return number.stripTrailingZeros().scale() <= 0;
    }

    private static BigDecimal millis(String text) {
        BigDecimal sum = BigDecimal.ZERO;
        Matcher part = PART.matcher(text);
        while (part.find()) {
            BigDecimal factor = switch (part.group(2)) {
                case "ms" -> BigDecimal.ONE;
                case "s" -> MILLIS;
                case "m" -> MILLIS.multiply(BigDecimal.valueOf(MINUTE));
                case "h" -> MILLIS.multiply(BigDecimal.valueOf(HOUR));
                default -> MILLIS.multiply(BigDecimal.valueOf(DAY));
            };
            sum = sum.add(new BigDecimal(part.group(1)).multiply(factor));
        }
        return sum;
    }

    static @Nullable Integer readSize(String text) {
        Matcher amount = AMOUNT.matcher(text);
        if (!text.matches(SIZE) || !amount.matches()) {
            return null;
        }
        long bytes = Long.parseLong(amount.group(1))
                << switch (amount.group(2)) {
                    case "KiB" -> 10;
                    case "MiB" -> 20;
                    case "GiB" -> 30;
                    default -> 0;
                };
        return bytes < 1 || bytes > MAX_SIZE ? null : (int) bytes;
    }

    static @Nullable Double readShare(String text) {
        return text.matches(SHARE)
                ? new BigDecimal(text.substring(0, text.length() - 1))
                        .movePointLeft(2)
                        .doubleValue()
                : null;
    }
}
