package dev.isthmus.gateway.settings;

import java.util.Locale;

/** Suggests the name that may have been meant: not of numbers, which are chosen. */
public final class NearestName {
    private static final int SHORT = 4;

    private NearestName() {}

    /** " - did you mean 'x'?" for the nearest of the names, or nothing if none is close enough. */
    public static String suggestion(String got, Iterable<String> names) {
        String nearest = of(got, names);
        return nearest.isEmpty() ? "" : " - did you mean '" + nearest + "'?";
    }

    /** The nearest of the names; empty if none is close enough. */
    static String of(String got, Iterable<String> names) {
        String nearest = "";
        String plain = plain(got);
        int least = (plain.length() < SHORT ? plain.length() / 2 : Math.max(2, plain.length() / 3)) + 1;
        for (String name : names) {
            String other = plain(name);
            int distance = distance(plain, other);
            if (plain.length() >= SHORT && other.startsWith(plain + "_")) {
                distance = Math.min(distance, 2);
            }
            if (distance < least && (distance == 0 || !differInDigitsOnly(plain, other))) {
                least = distance;
                nearest = name;
            }
        }
        return nearest;
    }

    private static String plain(String text) {
        return text.toLowerCase(Locale.ROOT).replace('-', '_');
    }

    private static boolean differInDigitsOnly(String a, String b) {
        return a.replaceAll("[0-9]", "").equals(b.replaceAll("[0-9]", ""));
    }

    /** The Levenshtein distance of two words. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
