package dev.isthmus.gateway.settings;

/** Suggests the name that may have been meant. */
public final class NearestName {
    private NearestName() {}

    /** " - did you mean 'x'?" for the nearest of the names, or nothing if none is close enough. */
    public static String suggestion(String got, Iterable<String> names) {
        String nearest = "";
        int least = Math.max(2, got.length() / 3) + 1;
        for (String name : names) {
            int distance = distance(got, name);
            if (distance < least) {
                least = distance;
                nearest = name;
            }
        }
        return nearest.isEmpty() ? "" : " - did you mean '" + nearest + "'?";
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
