package dev.isthmus.gateway.catalogue;

import java.util.Comparator;

/** Orders versions: the empty version, then numbers by value, then other strings. */
final class VersionOrder {
    /** Of two numbers, which may have any length, the one with more digits is larger. */
    static final Comparator<String> ORDER = Comparator.comparingInt(VersionOrder::rank)
            .thenComparing(
                    VersionOrder::digits,
                    Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
            .thenComparing(Comparator.naturalOrder());

    private VersionOrder() {}

    private static int rank(String version) {
        if (version.isEmpty()) {
            return 0;
        }
        return version.chars().allMatch(digit -> digit >= '0' && digit <= '9') ? 1 : 2;
    }

    /** Those of a number, without zeros in front; none of other strings. */
    private static String digits(String version) {
        return rank(version) == 1 ? version.replaceFirst("^0+(?=.)", "") : "";
    }
}
