package dev.isthmus.transcoder.message;

/** How NaN and the infinities are written as JSON, which has no numbers for them. */
public enum NonFinite {
    /** The bare words {@code NaN}, {@code Infinity}, {@code -Infinity}, as Triton does. */
    TOKEN,
    /** {@code null}, as MLServer does; which of the three it was is lost. */
    NULL,
    /** The words as strings. */
    STRING,
    /** Not at all: the answer fails. */
    ERROR
}
