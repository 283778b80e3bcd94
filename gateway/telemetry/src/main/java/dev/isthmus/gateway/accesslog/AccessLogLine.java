package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.accesslog.LineWriter.Member;
import dev.isthmus.gateway.accesslog.LineWriter.RepeatedText;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import java.util.List;

/**
 * Writes the line of one call. Members without a value are left out; docs/reference/access-log.md describes them. Any
 * text of a client is escaped as JSON, so that it cannot add a line or a member.
 */
final class AccessLogLine {
    private static final Member TIME = new Member("time");
    private static final Member REQUEST_ID = new Member("request_id");
    private static final Member TRACE_ID = new Member("trace_id");
    private static final Member HEADERS = new Member("headers");
    private static final Member PEER = new Member("peer");
    private static final Member ATTEMPTS = new Member("attempts");
    private static final Member RETRIES = new Member("retries");
    private static final Member HTTP_STATUS = new Member("http_status");
    private static final Member GRPC_STATUS = new Member("grpc_status");
    private static final Member REASON = new Member("reason");
    private static final Member REQUEST_BYTES = new Member("request_bytes");
    private static final Member RESPONSE_BYTES = new Member("response_bytes");
    private static final Member REQUEST_MS = new Member("request_ms");
    private static final Member UPSTREAM_MS = new Member("upstream_ms");
    private static final Member RESPONSE_MS = new Member("response_ms");
    private static final Member DURATION_MS = new Member("duration_ms");

    private final LineWriter out;
    private final List<Header> headers;
    private final RepeatedText principal = new RepeatedText("principal");
    private final RepeatedText protocol = new RepeatedText("protocol");
    private final RepeatedText method = new RepeatedText("method");
    private final RepeatedText path = new RepeatedText("path");
    private final RepeatedText listener = new RepeatedText("listener");
    private final RepeatedText tls = new RepeatedText("tls");
    private final RepeatedText operation = new RepeatedText("operation");
    private final RepeatedText model = new RepeatedText("model");
    private final RepeatedText version = new RepeatedText("version");
    private final RepeatedText route = new RepeatedText("route");
    private final RepeatedText target = new RepeatedText("target");
    private final RepeatedText upstream = new RepeatedText("upstream");
    private final RepeatedText servedModel = new RepeatedText("served_model");
    private final RepeatedText servedVersion = new RepeatedText("served_version");
    private final RepeatedText server = new RepeatedText("server");
    private final RepeatedText code = new RepeatedText("code");

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
        out.plain(REQUEST_ID, call.requestId());
        out.plain(TRACE_ID, call.traceId());
        out.text(PEER, call.peerText());
        ClientConnection connection = call.connection();
        if (connection != null) {
            connection(connection);
        }
        out.text(principal, call.principal().name());
        if (call.protocol() != null) {
            out.text(protocol, call.protocol().label());
        }
        out.text(method, fields.method());
        String uri = fields.uri();
        int query = uri.indexOf('?');
        out.text(path, query < 0 ? uri : uri.substring(0, query));
        if (!headers.isEmpty()) {
            out.beginObject(HEADERS);
            for (Header each : headers) {
                out.text(each.member(), fields.value(each.name()));
            }
            out.endObject();
        }
    }

    private void connection(ClientConnection connection) {
        out.text(listener, connection.listener());
        if (connection.tls() != null) {
            out.text(tls, connection.tls().protocol());
        }
    }

    private void request(CallContext call) {
        Operation requested = call.operation();
        out.text(operation, OperationKind.of(requested).label());
        ModelRef named = requested == null ? null : requested.requestedModel();
        if (named != null) {
            out.text(model, named.name());
            out.text(version, named.version());
        }
    }

    private void target(CallContext call) {
        if (!call.route().equals(CallContext.NO_ROUTE)) {
            out.text(route, call.route());
        }
        out.text(target, call.target());
        out.text(upstream, call.upstream());
        ModelRef served = call.served();
        if (served != null) {
            out.text(servedModel, served.name());
            out.text(servedVersion, served.version());
        }
        out.text(server, call.server());
        out.number(ATTEMPTS, call.attempts());
        List<String> retries = call.retries();
        if (!retries.isEmpty()) {
            out.texts(RETRIES, retries);
        }
    }

    private void result(CallContext call) {
        ErrorCode failure = call.code();
        out.number(HTTP_STATUS, failure == null ? 200 : failure.httpStatus());
        out.number(GRPC_STATUS, failure == null ? 0 : failure.grpcStatus());
        out.text(code, failure == null ? "OK" : failure.name());
        out.text(REASON, call.reason());
        out.number(REQUEST_BYTES, call.requestBytes());
        out.number(RESPONSE_BYTES, call.responseBytes());
        out.milliseconds(REQUEST_MS, call.requestNanos());
        out.milliseconds(UPSTREAM_MS, call.upstreamNanos());
        out.milliseconds(RESPONSE_MS, call.responseWriteNanos());
        out.milliseconds(DURATION_MS, call.totalNanos());
    }

    /** A request header that is logged. */
    private record Header(String name, Member member) {
        Header(String name) {
            this(name, new Member(name));
        }
    }
}
