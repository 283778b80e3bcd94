package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.TraceContext;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The headers of trace context that servers get.
 *
 * @param parent whether they get traceparent
 * @param state whether they get tracestate
 */
record TraceHeaders(boolean parent, boolean state) {
    /** The header of {@code tracestate} (W3C Trace Context, 3.3), in lower case. */
    static final String TRACESTATE = "tracestate";

    private static final int MAX_MEMBERS = 32;
    private static final String CHARACTERS = "[a-z0-9_*/-]*+";
    /** A member, or nothing, and the spaces and tabs around it; key and value have at most 256 characters. */
    private static final Pattern MEMBER = Pattern.compile("[ \\t]*+((?=[^=]{1,256}=)[a-z0-9]" + CHARACTERS + "(?:@[a-z]"
            + CHARACTERS + ")?=[ -~&&[^=]]{0,255}[!-~&&[^=]])?[ \\t]*+");

    /** Whether a value of tracestate may be forwarded: a list of at most 32 members {@code key=value}, empty ones not counted. */
    static boolean validState(String list) {
        int members = 0;
        Matcher member = MEMBER.matcher("");
        for (String each : list.split(",", -1)) {
            if (!member.reset(each).matches() || (member.group(1) != null && ++members > MAX_MEMBERS)) {
                return false;
            }
        }
        return members > 0;
    }

    /**
     * The call with this trace context in place of what the client sent.
     *
     * @param traceparent for the server
     * @param tracestate of the client, valid; null if there is none, or none that may be forwarded
     */
    Call with(Call call, String traceparent, @Nullable String tracestate) {
        if (!parent && !state) {
            return call;
        }
        Call located = parent ? call.withHeader(TraceContext.HEADER, traceparent) : call;
        if (state && tracestate != null) {
            return located.withHeader(TRACESTATE, tracestate);
        }
        return located.headers().containsKey(TRACESTATE) ? withoutState(located) : located;
    }

    private static Call withoutState(Call call) {
        Map<String, String> headers = new HashMap<>(call.headers());
        headers.remove(TRACESTATE);
        return call.withHeaders(headers);
    }
}
