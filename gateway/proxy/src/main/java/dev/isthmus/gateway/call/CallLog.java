package dev.isthmus.gateway.call;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.spi.LoggingEventBuilder;

/** Adds the members to a log event by which its call is found in the access log and in traces. */
public final class CallLog {
    /** W3C Trace Context, 3.2. */
    private static final Pattern TRACEPARENT = Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*");

    private CallLog() {}

    /** Adds {@code request_id}, {@code trace_id}, {@code upstream}, {@code server} and {@code model}, as far as known. */
    public static LoggingEventBuilder of(LoggingEventBuilder event, CallContext call) {
        return event.addKeyValue("request_id", call.requestId())
                .addKeyValue("trace_id", traceId(call))
                .addKeyValue("upstream", call.upstream())
                .addKeyValue("server", call.server())
                .addKeyValue("model", call.served() == null ? "" : call.served().name());
    }

    private static String traceId(CallContext call) {
        String parent = call.headers().value("traceparent");
        Matcher matcher = TRACEPARENT.matcher(parent == null ? "" : parent);
        return matcher.matches() ? matcher.group(1) : "";
    }
}
