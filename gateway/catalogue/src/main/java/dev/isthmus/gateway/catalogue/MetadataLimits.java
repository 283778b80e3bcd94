package dev.isthmus.gateway.catalogue;

/** Limits of the data kept from servers. */
final class MetadataLimits {
    /** Models of an index or of statistics; each version counts. */
    static final int ENTRIES = 100_000;
    /** Characters of one reason. */
    static final int REASON = 512;
    /** Characters of a report about several servers. */
    static final int REPORT = 2_048;
    /** Differences reported per model. */
    static final int DRIFTS = 256;

    private static final String ELLIPSIS = "...";

    private MetadataLimits() {}

    static String reason(String text) {
        return cut(text, REASON);
    }

    /** Truncates a text that is too long and appends an ellipsis. */
    static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        int end = length - ELLIPSIS.length();
        boolean splits = Character.isHighSurrogate(text.charAt(end - 1));
        return text.substring(0, splits ? end - 1 : end) + ELLIPSIS;
    }
}
