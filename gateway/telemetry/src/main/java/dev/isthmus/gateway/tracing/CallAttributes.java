package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The span of a call, by the semantic conventions of HTTP servers, of gRPC servers and of generative AI. */
final class CallAttributes {
    private static final int OK = 200;
    private static final int FIRST_SERVER_ERROR = 500;
    /** Bounds the memory of the spans that wait for the collector. */
    private static final int MAX_LENGTH = 512;

    private static final AttributeKey<List<String>> RETRIES = AttributeKey.stringArrayKey("isthmus.retries");
    private static final Set<String> HTTP_METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE");
    /** Those that are the client's fault or wish are none of the server. */
    private static final Set<ErrorCode> GRPC_ERRORS = Set.of(
            ErrorCode.UNKNOWN,
            ErrorCode.DEADLINE_EXCEEDED,
            ErrorCode.UNIMPLEMENTED,
            ErrorCode.INTERNAL,
            ErrorCode.UNAVAILABLE,
            ErrorCode.DATA_LOSS);

    private CallAttributes() {}

    static String name(CallContext call) {
        if (call.protocol() != ClientProtocol.REST) {
            return OperationNames.received(call.headers().uri());
        }
        String route = route(call);
        String method = method(call.headers());
        String verb = method.equals(OperationNames.OTHER) ? "HTTP" : method;
        return route == null ? verb : verb + ' ' + route;
    }

    /** Whether the call failed because of the gateway or a server. */
    static boolean isError(CallContext call) {
        ErrorCode code = call.code();
        return code != null
                && (call.protocol() == ClientProtocol.REST
                        ? code.httpStatus() >= FIRST_SERVER_ERROR
                        : GRPC_ERRORS.contains(ErrorCode.ofGrpcStatus(code.grpcStatus())));
    }

    /**
     * The attributes of the span of a call that has ended.
     *
     * @param cached what the cache did with it; empty if it did not meet one
     */
    static Attributes of(CallContext call, String cached) {
        AttributesBuilder all = Attributes.builder();
        if (call.protocol() == ClientProtocol.REST) {
            http(all, call);
        } else {
            rpc(all, call);
        }
        if (isError(call)) {
            all.put("error.type", String.valueOf(call.code()));
        }
        if (call.cause() != null) {
            all.put("isthmus.cause", call.cause().label());
        }
        client(all, call);
        isthmus(all, call);
        put(all, "isthmus.cache", cached);
        return all.build();
    }

    private static void rpc(AttributesBuilder all, CallContext call) {
        all.put("rpc.system.name", "grpc");
        String method = OperationNames.received(call.headers().uri());
        all.put("rpc.method", method);
        if (method.equals(OperationNames.OTHER)) {
            put(all, "rpc.method_original", call.headers().uri());
        }
        all.put("rpc.response.status_code", grpcStatus(call.code()));
    }

    /** The code that has the same gRPC status and gRPC's name for it. */
    static String grpcStatus(@Nullable ErrorCode code) {
        return code == null ? "OK" : ErrorCode.ofGrpcStatus(code.grpcStatus()).name();
    }

    private static void http(AttributesBuilder all, CallContext call) {
        HeaderFields fields = call.headers();
        String method = method(fields);
        all.put("http.request.method", method);
        if (method.equals(OperationNames.OTHER)) {
            put(all, "http.request.method_original", fields.method());
        }
        String uri = fields.uri();
        int query = uri.indexOf('?');
        put(all, "url.path", query < 0 ? uri : uri.substring(0, query));
        ClientConnection connection = call.connection();
        if (connection != null) {
            all.put("url.scheme", connection.tls() == null ? "http" : "https");
        }
        put(all, "http.route", route(call));
        ErrorCode code = call.code();
        all.put("http.response.status_code", code == null ? OK : code.httpStatus());
    }

    private static String method(HeaderFields fields) {
        return HTTP_METHODS.contains(fields.method()) ? fields.method() : OperationNames.OTHER;
    }

    private static @Nullable String route(CallContext call) {
        Operation operation = call.operation();
        if (operation == null) {
            return null;
        }
        String uri = call.headers().uri();
        if (operation instanceof Operation.ServerLive && uri.startsWith("/livez")) {
            return "/livez";
        }
        ModelRef model = operation.requestedModel();
        String path = operation.path(model == null ? ModelRef.of("") : model);
        // The responses to /infer are a stream if the client accepts events.
        boolean events = path.endsWith("/infer_stream") && !uri.contains("/infer_stream");
        return events ? path.substring(0, path.length() - "_stream".length()) : path;
    }

    private static void client(AttributesBuilder all, CallContext call) {
        if (call.peer() instanceof InetSocketAddress client) {
            put(all, "client.address", client.getHostString());
        }
        SocketAddress peer =
                call.connection() == null ? null : call.connection().peer();
        if (peer instanceof InetSocketAddress address) {
            all.put("network.peer.address", address.getHostString());
            all.put("network.peer.port", address.getPort());
        }
        put(all, "user_agent.original", call.headers().value("user-agent"));
    }

    private static void isthmus(AttributesBuilder all, CallContext call) {
        Operation operation = call.operation();
        all.put("isthmus.operation", OperationKind.of(operation).label());
        put(all, "isthmus.request_id", call.requestId());
        put(all, "isthmus.listener", call.listener());
        ModelRef model = operation == null ? null : operation.requestedModel();
        if (model != null) {
            put(all, "isthmus.model", model.name());
            put(all, "isthmus.version", model.version());
        }
        if (operation instanceof Operation.Generate generate) {
            AttemptAttributes.generative(all, generate.model());
        }
        put(all, "isthmus.route", call.route().equals(CallContext.NO_ROUTE) ? "" : call.route());
        put(all, "isthmus.target", call.target());
        put(all, "isthmus.upstream", call.upstream());
        ModelRef served = call.served();
        if (served != null) {
            put(all, "isthmus.served_model", served.name());
            put(all, "isthmus.served_version", served.version());
        }
        all.put("isthmus.attempts", call.attempts());
        if (!call.retries().isEmpty()) {
            all.put(RETRIES, List.copyOf(call.retries()));
        }
        all.put("isthmus.request.size", call.requestBytes());
        all.put("isthmus.response.size", call.responseBytes());
    }

    /** A text, which may be a client's, or its beginning if it has more than 512 characters. */
    static String cut(String text) {
        if (text.length() <= MAX_LENGTH) {
            return text;
        }
        boolean pair = Character.isHighSurrogate(text.charAt(MAX_LENGTH - 1));
        return text.substring(0, pair ? MAX_LENGTH - 1 : MAX_LENGTH);
    }

    /** Leaves out what is null or empty. */
    static void put(AttributesBuilder all, String key, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            all.put(key, cut(value));
        }
    }
}
