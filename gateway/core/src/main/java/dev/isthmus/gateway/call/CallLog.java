package dev.isthmus.gateway.call;

import java.util.Objects;
import org.slf4j.spi.LoggingEventBuilder;

/** Adds the members to a log event by which its call is found in the access log and in traces. */
public final class CallLog {
    private CallLog() {}

    /** Adds {@code request_id}, {@code trace_id}, {@code upstream}, {@code server} and {@code model}, as far as known. */
    public static LoggingEventBuilder of(LoggingEventBuilder event, CallContext call) {
        return event.addKeyValue("request_id", call.requestId())
                .addKeyValue("trace_id", Objects.requireNonNullElse(call.traceId(), ""))
                .addKeyValue("upstream", call.upstream())
                .addKeyValue("server", call.server())
                .addKeyValue("model", call.served() == null ? "" : call.served().name());
    }
}
