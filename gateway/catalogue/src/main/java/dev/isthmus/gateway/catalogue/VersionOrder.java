package dev.isthmus.gateway.catalogue;

import java.util.Comparator;

/** Orders versions: the empty version, then numbers by value, then other strings. */
final class VersionOrder {
    static final Comparator<String> ORDER = VersionOrder::compare;

    private VersionOrder() {}

    private static int compare(String left, String right) {
        boolean number = number(left);
        if (left.isEmpty() || right.isEmpty() || number != number(right)) {
            return Integer.compare(rank(left, number), rank(right, number(right)));
        }
        return number ? numbers(left, right) : left.compareTo(right);
    }

    private static int rank(String version, boolean number) {
        if (version.isEmpty()) {
            return 0;
        }
        return number ? 1 : 2;
    }

    /** Compares numbers of any length. */
    private static int numbers(String left, String right) {
        String first = significant(left);
        String second = significant(right);
        int order = Integer.compare(first.length(), second.length());
        if (order == 0) {
            order = first.compareTo(second);
        }
        return order == 0 ? left.compareTo(right) : order;
    }

    private static String significant(String number) {
        int start = 0;
        while (start < number.length() - 1 && number.charAt(start) == '0') {
            start++;
        }
        return number.substring(start);
    }

    private static boolean number(String version) {
        return !version.isEmpty() && version.chars().allMatch(digit -> digit >= '0' && digit <= '9');
    }
}
