package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.accesslog.LineWriter.Member;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.metrics.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes the line of one call. Members without a value are left out; docs/reference/access-log.md describes them. Any
 * text of a client is escaped as JSON, so that it cannot add a line or a member.
 */
final class AccessLogLine {
    private static final int TRACE_PARENT_LENGTH = 55;
    private static final int TRACE_ID_START = 3;
    private static final int TRACE_ID_END = 35;

    private static final Member TIME = new Member("time");
    private static final Member REQUEST_ID = new Member("request_id");
    private static final Member TRACE_ID = new Member("trace_id");
    private static final Member PRINCIPAL = new Member("principal");
    private static final Member PROTOCOL = new Member("protocol");
    private static final Member METHOD = new Member("method");
    private static final Member PATH = new Member("path");
    private static final Member HEADERS = new Member("headers");
    private static final Member PEER = new Member("peer");
    private static final Member LISTENER = new Member("listener");
    private static final Member TLS = new Member("tls");
    private static final Member OPERATION = new Member("operation");
    private static final Member MODEL = new Member("model");
    private static final Member VERSION = new Member("version");
    private static final Member ROUTE = new Member("route");
    private static final Member UPSTREAM = new Member("upstream");
    private static final Member SERVED_MODEL = new Member("served_model");
    private static final Member SERVED_VERSION = new Member("served_version");
    private static final Member SERVER = new Member("server");
    private static final Member ATTEMPTS = new Member("attempts");
    private static final Member RETRIES = new Member("retries");
    private static final Member HTTP_STATUS = new Member("http_status");
    private static final Member GRPC_STATUS = new Member("grpc_status");
    private static final Member CODE = new Member("code");
    private static final Member REASON = new Member("reason");
    private static final Member REQUEST_BYTES = new Member("request_bytes");
    private static final Member RESPONSE_BYTES = new Member("response_bytes");
    private static final Member REQUEST_MS = new Member("request_ms");
    private static final Member UPSTREAM_MS = new Member("upstream_ms");
    private static final Member RESPONSE_MS = new Member("response_ms");
    private static final Member DURATION_MS = new Member("duration_ms");

    private final LineWriter out;
    private final List<Header> headers;

    /** @param headers names of the request headers to log */
    AccessLogLine(LineWriter out, List<String> headers) {
        this.out = out;
        this.headers = headers.stream().map(Header::new).toList();
    }

    /**
     * Writes the line.
     *
     * @param endMillis when the call ended, in milliseconds since 1970
     */
    void write(CallContext call, long endMillis) {
        out.begin();
        out.time(TIME, endMillis - call.totalNanos() / 1_000_000);
        client(call);
        request(call);
        target(call);
        result(call);
        out.end();
    }

    private void client(CallContext call) {
        HeaderFields fields = call.headers();
        out.text(REQUEST_ID, call.requestId());
        out.text(TRACE_ID, traceId(fields.value("traceparent")));
        out.text(PEER, call.peerText());
        ClientConnection connection = call.connection();
        if (connection != null) {
            connection(connection);
        }
        out.text(PRINCIPAL, call.principal().name());
        if (call.protocol() != null) {
            out.text(PROTOCOL, call.protocol().label());
        }
        out.text(METHOD, fields.method());
        String uri = fields.uri();
        int query = uri.indexOf('?');
        out.text(PATH, query < 0 ? uri : uri.substring(0, query));
        if (!headers.isEmpty()) {
            out.beginObject(HEADERS);
            for (Header each : headers) {
                out.text(each.member(), fields.value(each.name()));
            }
            out.endObject();
        }
    }

    private void connection(ClientConnection connection) {
        out.text(LISTENER, connection.listener());
        if (connection.tls() != null) {
            out.text(TLS, connection.tls().protocol());
        }
    }

    private void request(CallContext call) {
        Operation operation = call.operation();
        out.text(OPERATION, OperationKind.of(operation).label());
        ModelRef model = operation == null ? null : operation.requestedModel();
        if (model != null) {
            out.text(MODEL, model.name());
            out.text(VERSION, model.version());
        }
    }

    private void target(CallContext call) {
        if (!call.route().equals(CallContext.NO_ROUTE)) {
            out.text(ROUTE, call.route());
        }
        out.text(UPSTREAM, call.upstream());
        ModelRef served = call.served();
        if (served != null) {
            out.text(SERVED_MODEL, served.name());
            out.text(SERVED_VERSION, served.version());
        }
        out.text(SERVER, call.server());
        out.number(ATTEMPTS, call.attempts());
        List<String> retries = call.retries();
        if (!retries.isEmpty()) {
            out.texts(RETRIES, retries);
        }
    }

    private void result(CallContext call) {
        ErrorCode code = call.code();
        out.number(HTTP_STATUS, code == null ? 200 : code.httpStatus());
        out.number(GRPC_STATUS, code == null ? 0 : code.grpcStatus());
        out.text(CODE, code == null ? "OK" : code.name());
        out.text(REASON, call.reason());
        out.number(REQUEST_BYTES, call.requestBytes());
        out.number(RESPONSE_BYTES, call.responseBytes());
        out.milliseconds(REQUEST_MS, call.requestNanos());
        out.milliseconds(UPSTREAM_MS, call.upstreamNanos());
        out.milliseconds(RESPONSE_MS, call.responseWriteNanos());
        out.milliseconds(DURATION_MS, call.totalNanos());
    }

    /** The trace id of a W3C traceparent; null if it is missing or malformed. */
    private static @Nullable String traceId(@Nullable String traceparent) {
        return traceparent != null
                        && traceparent.length() >= TRACE_PARENT_LENGTH
                        && traceparent.charAt(TRACE_ID_START - 1) == '-'
                        && traceparent.charAt(TRACE_ID_END) == '-'
                ? traceparent.substring(TRACE_ID_START, TRACE_ID_END)
                : null;
    }

    /** A request header that is logged. */
    private record Header(String name, Member member) {
        Header(String name) {
            this(name, new Member(name));
        }
    }
}
