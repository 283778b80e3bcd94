package dev.isthmus.gateway.shadow;

/** What became of the comparison of two answers. */
enum ComparisonResult {
    EQUAL("equal"),
    DIFFERENT("different"),
    /** One of the two is larger than is compared, or the main answer cannot be read. */
    LEFT_OUT("left_out"),
    /** There was no room for it. */
    DROPPED("dropped");

    private final String label;

    ComparisonResult(String label) {
        this.label = label;
    }

    /** What metrics call it. */
    String label() {
        return label;
    }
}
