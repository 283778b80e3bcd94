package dev.isthmus.gateway.catalogue;

/** How much of what servers say is kept. */
final class MetadataLimits {
    /** Models of an index or of statistics, each version counted. */
    static final int ENTRIES = 100_000;
    /** Characters of one reason. */
    static final int REASON = 512;
    /** Characters of a report on several servers. */
    static final int REPORT = 2_048;
    /** Drifts reported of one model. */
    static final int DRIFTS = 256;

    private static final String CUT = "...";

    private MetadataLimits() {}

    static String reason(String text) {
        return cut(text, REASON);
    }

    /** The text where it is short enough, otherwise its beginning with dots behind. */
    static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        int end = length - CUT.length();
        boolean splits = Character.isHighSurrogate(text.charAt(end - 1));
        return text.substring(0, splits ? end - 1 : end) + CUT;
    }
}
