package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/**
 * The position of a caller in a trace, as its {@code traceparent} says (W3C Trace Context, level 1, with the flag
 * {@code random} of level 2).
 *
 * @param traceId 32 hexadecimal digits in lower case, not all of them 0
 * @param parentId 16 hexadecimal digits in lower case, not all of them 0: the id of the caller's span
 * @param flags only those that are defined
 */
public record TraceContext(String traceId, String parentId, int flags) {
    /** The header, in lower case. */
    public static final String HEADER = "traceparent";

    private static final int SAMPLED = 1;
    private static final int RANDOM = 2;
    private static final int TRACE_ID = 3;
    private static final int PARENT_ID = 36;
    private static final int FLAGS = 53;
    private static final int LENGTH = 55;
    private static final int FIRST_VERSION = 0;
    private static final int INVALID_VERSION = 0xff;
    private static final String[] FLAG_TEXTS = {"-00", "-01", "-02", "-03"};

    /** The context of a header's value; null if there is none or if it is malformed, so that a new trace begins. */
    public static @Nullable TraceContext parse(@Nullable String traceparent) {
        if (traceparent == null
                || traceparent.length() < LENGTH
                || traceparent.charAt(TRACE_ID - 1) != '-'
                || traceparent.charAt(PARENT_ID - 1) != '-'
                || traceparent.charAt(FLAGS - 1) != '-') {
            return null;
        }
        int version = HexIds.octet(traceparent, 0);
        int flags = HexIds.octet(traceparent, FLAGS);
        if (version < 0 || flags < 0 || !ends(traceparent, version)) {
            return null;
        }
        boolean ids =
                HexIds.valid(traceparent, TRACE_ID, PARENT_ID - 1) && HexIds.valid(traceparent, PARENT_ID, FLAGS - 1);
        return ids
                ? new TraceContext(
                        traceparent.substring(TRACE_ID, PARENT_ID - 1),
                        traceparent.substring(PARENT_ID, FLAGS - 1),
                        flags & (SAMPLED | RANDOM))
                : null;
    }

    /** Whether nothing follows the flags but what a later version may add. */
    private static boolean ends(String traceparent, int version) {
        return switch (version) {
            case FIRST_VERSION -> traceparent.length() == LENGTH;
            case INVALID_VERSION -> false;
            default -> traceparent.length() == LENGTH || traceparent.charAt(LENGTH) == '-';
        };
    }

    /** Whether the caller records its span. */
    public boolean sampled() {
        return (flags & SAMPLED) != 0;
    }

    /** The same trace, with this decision. */
    public TraceContext withSampled(boolean sampled) {
        return new TraceContext(traceId, parentId, sampled ? flags | SAMPLED : flags & ~SAMPLED);
    }

    /** The header's value for a child of this span. */
    public String child(String spanId) {
        return "00-" + traceId + '-' + spanId + FLAG_TEXTS[flags & (SAMPLED | RANDOM)];
    }
}
