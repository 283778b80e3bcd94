package dev.isthmus.gateway.diagnosis;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What operators see of a call that has ended: nothing of its headers or tensors.
 *
 * @param number increases from call to call
 * @param model as the client named it; empty if it named none; as its version
 * @param servedModel as the server knows it; empty if it was sent to none; as its version
 * @param caller the name of who called; empty if that is not known
 * @param code OK if it succeeded
 * @param cause null if it succeeded
 * @param requestMs how long a phase took; null for one that was not reached; as the others
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record EndedCall(
        long number,
        Instant time,
        String protocol,
        String operation,
        String listener,
        String caller,
        String model,
        String version,
        String route,
        String target,
        String upstream,
        String servedModel,
        String servedVersion,
        String server,
        int attempts,
        List<String> retries,
        String code,
        @Nullable String cause,
        int status,
        String reason,
        String requestId,
        String traceId,
        long requestBytes,
        long responseBytes,
        @Nullable Double requestMs,
        @Nullable Double upstreamMs,
        @Nullable Double responseMs,
        @Nullable Double durationMs) {
    private static final int MAX_TEXT = 500;
    private static final ModelRef NO_MODEL = ModelRef.of("");

    public EndedCall {
        retries = List.copyOf(retries);
    }

    /** The call; on its event loop. */
    public static EndedCall of(long number, Instant time, CallContext call) {
        ClientProtocol protocol = call.protocol();
        Operation operation = call.operation();
        ModelRef requested = operation == null ? null : operation.requestedModel();
        ModelRef model = Objects.requireNonNullElse(requested, NO_MODEL);
        ModelRef served = Objects.requireNonNullElse(call.served(), NO_MODEL);
        ErrorCode code = call.code();
        return new EndedCall(
                number,
                time,
                protocol == null ? "" : protocol.label(),
                OperationKind.of(operation).label(),
                call.listener(),
                call.principal().name(),
                cut(model.name()),
                cut(model.version()),
                call.route(),
                call.target(),
                call.upstream(),
                served.name(),
                served.version(),
                call.server(),
                call.attempts(),
                call.retries(),
                code == null ? "OK" : code.name(),
                call.cause() == null ? null : call.cause().label(),
                code == null ? 200 : code.httpStatus(),
                cut(call.reason()),
                cut(call.requestId()),
                Objects.requireNonNullElse(call.traceId(), ""),
                call.requestBytes(),
                call.responseBytes(),
                millis(call.requestNanos()),
                millis(call.upstreamNanos()),
                millis(call.responseWriteNanos()),
                millis(call.totalNanos()));
    }

    private static String cut(String text) {
        return text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) : text;
    }

    private static @Nullable Double millis(long nanos) {
        return nanos < 0 ? null : (Double) (nanos / 1e6);
    }

    public Map<String, @Nullable Object> document() {
        return AdminResponse.members(this);
    }
}
