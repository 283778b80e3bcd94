package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.net.Labelled;

/** The result of comparing two responses. */
enum ComparisonResult implements Labelled {
    EQUAL,
    DIFFERENT,
    /** A response exceeds the size limit of comparisons, or the primary response cannot be decoded. */
    LEFT_OUT,
    /** Memory or queue limit reached. */
    DROPPED
}
