package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.metrics.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes the line of one call. Members without a value are left out; docs/reference/access-log.md describes them. Any
 * text of a client is escaped as JSON, so that it cannot add a line or a member.
 */
final class AccessLogLine {
    private final LineWriter out;
    private final List<String> headers;

    /** @param headers names of the request headers to log */
    AccessLogLine(LineWriter out, List<String> headers) {
        this.out = out;
        this.headers = headers;
    }

    /**
     * Writes the line.
     *
     * @param endMillis when the call ended, in milliseconds since 1970
     */
    void write(CallContext call, long endMillis) {
        out.begin();
        out.time("time", endMillis - call.totalNanos() / 1_000_000);
        client(call);
        request(call);
        target(call);
        result(call);
        out.end();
    }

    private void client(CallContext call) {
        HeaderFields fields = call.headers();
        out.text("request_id", call.requestId());
        out.text("trace_id", call.traceId());
        ClientConnection connection = call.connection();
        if (connection != null) {
            connection(connection);
        }
        out.text("principal", call.principal().name());
        if (call.protocol() != null) {
            out.text("protocol", call.protocol().label());
        }
        out.text("method", fields.method());
        String uri = fields.uri();
        int query = uri.indexOf('?');
        out.text("path", query < 0 ? uri : uri.substring(0, query));
        if (!headers.isEmpty()) {
            out.beginObject("headers");
            for (String name : headers) {
                out.text(name, fields.value(name));
            }
            out.endObject();
        }
    }

    private void connection(ClientConnection connection) {
        out.text("peer", address(connection.peer()));
        out.text("listener", connection.listener());
        if (connection.tls() != null) {
            out.text("tls", connection.tls().protocol());
        }
    }

    private void request(CallContext call) {
        Operation operation = call.operation();
        out.text("operation", OperationKind.of(operation).label());
        ModelRef model = operation == null ? null : operation.requestedModel();
        if (model != null) {
            out.text("model", model.name());
            out.text("version", model.version());
        }
    }

    private void target(CallContext call) {
        if (!call.route().equals(CallContext.NO_ROUTE)) {
            out.text("route", call.route());
        }
        out.text("upstream", call.upstream());
        ModelRef served = call.served();
        if (served != null) {
            out.text("served_model", served.name());
            out.text("served_version", served.version());
        }
        out.text("server", call.server());
        out.number("attempts", call.attempts());
        List<String> retries = call.retries();
        if (!retries.isEmpty()) {
            out.texts("retries", retries);
        }
    }

    private void result(CallContext call) {
        ErrorCode code = call.code();
        out.number("http_status", code == null ? 200 : code.httpStatus());
        out.number("grpc_status", code == null ? 0 : code.grpcStatus());
        out.text("code", code == null ? "OK" : code.name());
        out.text("reason", call.reason());
        out.number("request_bytes", call.requestBytes());
        out.number("response_bytes", call.responseBytes());
        out.milliseconds("request_ms", call.requestNanos());
        out.milliseconds("upstream_ms", call.upstreamNanos());
        out.milliseconds("response_ms", call.responseWriteNanos());
        out.milliseconds("duration_ms", call.totalNanos());
    }

    private static @Nullable String address(@Nullable SocketAddress peer) {
        if (peer == null) {
            return null;
        }
        return peer instanceof InetSocketAddress ip ? NetUtil.toSocketAddressString(ip) : peer.toString();
    }
}
