package dev.isthmus.gateway.tracing;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The grammar of {@code tracestate} (W3C Trace Context, 3.3). */
final class TraceStateGrammar {
    /** The header, in lower case. */
    static final String HEADER = "tracestate";

    private static final int MAX_MEMBERS = 32;
    private static final String CHARACTERS = "[a-z0-9_*/-]*+";
    /** A member, or nothing, and the spaces and tabs around it; key and value have at most 256 characters. */
    private static final Pattern MEMBER = Pattern.compile("[ \\t]*+((?=[^=]{1,256}=)[a-z0-9]" + CHARACTERS + "(?:@[a-z]"
            + CHARACTERS + ")?=[ -~&&[^=]]{0,255}[!-~&&[^=]])?[ \\t]*+");

    private TraceStateGrammar() {}

    /** Whether a value may be forwarded: a list of at most 32 members {@code key=value}, empty ones not counted. */
    static boolean valid(String list) {
        int members = 0;
        Matcher member = MEMBER.matcher("");
        for (String each : list.split(",", -1)) {
            if (!member.reset(each).matches() || (member.group(1) != null && ++members > MAX_MEMBERS)) {
                return false;
            }
        }
        return members > 0;
    }
}
