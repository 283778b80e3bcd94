package dev.isthmus.gateway.shadow;

/** The result of comparing two responses. */
enum ComparisonResult {
    EQUAL("equal"),
    DIFFERENT("different"),
    /** A response exceeds the size limit of comparisons, or the primary response cannot be decoded. */
    LEFT_OUT("left_out"),
    /** Memory or queue limit reached. */
    DROPPED("dropped");

    private final String label;

    ComparisonResult(String label) {
        this.label = label;
    }

    /** The metric's tag value. */
    String label() {
        return label;
    }
}
