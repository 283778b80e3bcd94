package dev.isthmus.gateway.call;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Log events of calls, by whose members a call is found in the access log and in traces. */
public final class CallLog {
    private static final Logger LOG = LoggerFactory.getLogger(CallLog.class);

    private CallLog() {}

    /** Adds {@code request_id}, {@code trace_id}, {@code upstream}, {@code server} and {@code model}, as far as known. */
    public static LoggingEventBuilder of(LoggingEventBuilder event, CallContext call) {
        return event.addKeyValue("request_id", call.requestId())
                .addKeyValue("trace_id", Objects.requireNonNullElse(call.traceId(), ""))
                .addKeyValue("upstream", call.upstream())
                .addKeyValue("server", call.server())
                .addKeyValue("model", call.served() == null ? "" : call.served().name());
    }

    /** The failure of a call by what was thrown: an {@link OipException} itself; INTERNAL for a fault, which is logged. */
    public static OipException failureOf(Throwable thrown, CallContext call) {
        Throwable cause =
                thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
        if (cause instanceof OipException failure) {
            return failure;
        }
        if (cause instanceof OutOfMemoryError) {
            return OipException.outOfMemory(cause);
        }
        of(LOG.atError(), call)
                .addMarker(RepeatingLogEvent.MARKER)
                .setCause(cause)
                .log("internal error in a call; please report it");
        return new OipException(ErrorCode.INTERNAL, "internal error", cause);
    }
}
