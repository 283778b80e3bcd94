package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What became of one call. Times are in nanoseconds; {@link CallContext#NOT_YET} for a phase that was not reached.
 *
 * @param requestNanos until the request was received
 * @param serverNanos from then to the start of the response
 * @param responseNanos until the response was written
 * @param served the model as the upstream knows it; null if the call was sent to none
 * @param retries the reason for each retry
 * @param code null if the call succeeded
 */
record CallTimeline(
        @Nullable ClientProtocol protocol,
        String listener,
        String caller,
        String route,
        String target,
        String upstream,
        @Nullable ModelRef served,
        String server,
        int attempts,
        List<String> retries,
        long requestNanos,
        long serverNanos,
        long responseNanos,
        long totalNanos,
        long requestBytes,
        long responseBytes,
        @Nullable ErrorCode code,
        String reason) {

    CallTimeline {
        retries = List.copyOf(retries);
    }

    /** The timeline of a call that has ended; on its event loop. */
    static CallTimeline of(CallContext call) {
        return new CallTimeline(
                call.protocol(),
                call.listener(),
                call.principal().name(),
                call.route(),
                call.target(),
                call.upstream(),
                call.served(),
                call.server(),
                call.attempts(),
                call.retries(),
                call.requestNanos(),
                call.upstreamNanos(),
                call.responseWriteNanos(),
                call.totalNanos(),
                call.requestBytes(),
                call.responseBytes(),
                call.code(),
                call.reason());
    }

    /** The timeline as JSON, for the page. */
    ObjectNode document() {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("protocol", protocol == null ? "" : protocol.label())
                .put("listener", listener)
                .put("caller", caller)
                .put("route", route)
                .put("target", target)
                .put("upstream", upstream)
                .put("model", served == null ? "" : served.name())
                .put("version", served == null ? "" : served.version())
                .put("server", server)
                .put("attempts", attempts)
                .put("request_bytes", requestBytes)
                .put("response_bytes", responseBytes)
                .put("code", code == null ? "OK" : code.name())
                .put("reason", reason)
                .put("total_ms", milliseconds(totalNanos));
        ArrayNode whys = json.putArray("retries");
        retries.forEach(whys::add);
        ArrayNode phases = json.putArray("phases");
        phase(phases, "request received", requestNanos);
        phase(phases, "response awaited", serverNanos);
        phase(phases, "response written", responseNanos);
        return json;
    }

    private static void phase(ArrayNode phases, String name, long nanos) {
        if (nanos >= 0) {
            phases.addObject().put("name", name).put("ms", milliseconds(nanos));
        }
    }

    private static double milliseconds(long nanos) {
        return Math.max(0, nanos) / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }
}
