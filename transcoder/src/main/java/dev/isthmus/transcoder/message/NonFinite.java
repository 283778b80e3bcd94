package dev.isthmus.transcoder.message;

/** How NaN and the infinities, which JSON numbers cannot represent, are written in JSON. */
public enum NonFinite {
    /** The bare tokens {@code NaN}, {@code Infinity}, {@code -Infinity}, as Triton does. */
    TOKEN,
    /** {@code null}, as MLServer does; loses which of the three it was. */
    NULL,
    /** The strings {@code "NaN"}, {@code "Infinity"}, {@code "-Infinity"}. */
    STRING,
    /** The response fails. */
    ERROR
}
