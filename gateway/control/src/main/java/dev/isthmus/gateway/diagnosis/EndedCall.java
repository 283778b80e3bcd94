package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What operators see of a call that has ended: nothing of its headers or tensors.
 *
 * @param number increases from call to call
 * @param model as the client named it; null if it named none
 * @param served as the server knows it; null if it was sent to none
 * @param caller the name of who called; empty if that is not known
 * @param code null if it succeeded
 */
public record EndedCall(
        long number,
        Instant time,
        String protocol,
        String operation,
        String listener,
        String caller,
        @Nullable ModelRef model,
        String route,
        String target,
        String upstream,
        @Nullable ModelRef served,
        String server,
        int attempts,
        List<String> retries,
        @Nullable ErrorCode code,
        String reason,
        String requestId,
        @Nullable String traceId,
        long requestBytes,
        long responseBytes,
        PhaseNanos phases) {
    private static final int MAX_TEXT = 500;

    /** How long the phases of the call took; negative for one that was not reached. */
    public record PhaseNanos(long request, long upstream, long response, long total) {}

    public EndedCall {
        retries = List.copyOf(retries);
    }

    /** The call; on its event loop. */
    public static EndedCall of(long number, Instant time, CallContext call) {
        ClientProtocol protocol = call.protocol();
        Operation operation = call.operation();
        return new EndedCall(
                number,
                time,
                protocol == null ? "" : protocol.label(),
                OperationKind.of(operation).label(),
                call.listener(),
                call.principal().name(),
                operation == null ? null : operation.requestedModel(),
                call.route(),
                call.target(),
                call.upstream(),
                call.served(),
                call.server(),
                call.attempts(),
                call.retries(),
                call.code(),
                cut(call.reason()),
                cut(call.requestId()),
                call.traceId(),
                call.requestBytes(),
                call.responseBytes(),
                new PhaseNanos(
                        call.requestNanos(), call.upstreamNanos(), call.responseWriteNanos(), call.totalNanos()));
    }

    private static String cut(String text) {
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text;
    }

    public Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("number", number);
        document.put("time", time.toString());
        document.put("protocol", protocol);
        document.put("operation", operation);
        document.put("listener", listener);
        document.put("caller", caller);
        document.put("model", model == null ? "" : cut(model.name()));
        document.put("version", model == null ? "" : cut(model.version()));
        document.put("route", route);
        document.put("target", target);
        document.put("upstream", upstream);
        document.put("served_model", served == null ? "" : served.name());
        document.put("served_version", served == null ? "" : served.version());
        document.put("server", server);
        document.put("attempts", attempts);
        document.put("retries", retries);
        document.put("code", code == null ? "OK" : code.name());
        document.put("status", code == null ? 200 : code.httpStatus());
        document.put("reason", reason);
        document.put("request_id", requestId);
        document.put("trace_id", Objects.requireNonNullElse(traceId, ""));
        document.put("request_bytes", requestBytes);
        document.put("response_bytes", responseBytes);
        put(document, "request_ms", phases.request());
        put(document, "upstream_ms", phases.upstream());
        put(document, "response_ms", phases.response());
        put(document, "duration_ms", phases.total());
        return document;
    }

    private static void put(Map<String, Object> document, String name, long nanos) {
        if (nanos >= 0) {
            document.put(name, nanos / (double) TimeUnit.MILLISECONDS.toNanos(1));
        }
    }
}
