package dev.isthmus.gateway.shadow;

import java.util.Locale;

/** The result of comparing two responses. */
enum ComparisonResult {
    EQUAL,
    DIFFERENT,
    /** A response exceeds the size limit of comparisons, or the primary response cannot be decoded. */
    LEFT_OUT,
    /** Memory or queue limit reached. */
    DROPPED;

    /** The metric's tag value. */
    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
