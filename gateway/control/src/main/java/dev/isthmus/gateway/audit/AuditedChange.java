package dev.isthmus.gateway.audit;

/**
 * What was done.
 *
 * @param action in a few words: "ramp rollback", "reload"
 * @param subject what it was done to; empty for the gateway
 * @param before its state before; empty if it is not known
 * @param after its state afterwards; empty if it is not known
 * @param failure why it was refused or failed; empty if it was done
 */
public record AuditedChange(String action, String subject, String before, String after, String failure) {
    private static final int MAX_TEXT = 500;

    public AuditedChange {
        action = cut(action);
        subject = cut(subject);
        before = cut(before);
        after = cut(after);
        failure = cut(failure);
    }

    /** A change that was made. */
    public static AuditedChange done(String action, String subject, String before, String after) {
        return new AuditedChange(action, subject, before, after, "");
    }

    /** A change that was not made. */
    public static AuditedChange refused(String action, String subject, String reason) {
        return new AuditedChange(action, subject, "", "", reason);
    }

    private static String cut(String text) {
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text;
    }
}
