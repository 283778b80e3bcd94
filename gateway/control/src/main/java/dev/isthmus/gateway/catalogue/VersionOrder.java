package dev.isthmus.gateway.catalogue;

import java.util.Comparator;

/** The order of versions: numbers by their value, then other texts; no version comes first. */
final class VersionOrder {
    static final Comparator<String> ORDER = VersionOrder::compare;

    private VersionOrder() {}

    private static int compare(String one, String other) {
        boolean number = number(one);
        if (one.isEmpty() || other.isEmpty() || number != number(other)) {
            return Integer.compare(rank(one, number), rank(other, number(other)));
        }
        return number ? numbers(one, other) : one.compareTo(other);
    }

    private static int rank(String version, boolean number) {
        if (version.isEmpty()) {
            return 0;
        }
        return number ? 1 : 2;
    }

    /** Of any length, which no integer type has. */
    private static int numbers(String one, String other) {
        String first = significant(one);
        String second = significant(other);
        int order = Integer.compare(first.length(), second.length());
        if (order == 0) {
            order = first.compareTo(second);
        }
        return order == 0 ? one.compareTo(other) : order;
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
