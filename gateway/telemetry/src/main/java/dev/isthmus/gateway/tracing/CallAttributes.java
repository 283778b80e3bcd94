package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.Wire;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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

    /** The name of the span. */
    static String name(CallContext call) {
        if (call.protocol() == ClientProtocol.GRPC) {
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
        if (code == null) {
            return false;
        }
        return call.protocol() == ClientProtocol.GRPC
                ? GRPC_ERRORS.contains(ErrorCode.ofGrpcStatus(code.grpcStatus()))
                : code.httpStatus() >= FIRST_SERVER_ERROR;
    }

    /**
     * The attributes of the span of a call that has ended.
     *
     * @param cached what the cache did with it; empty if it did not meet one
     */
    static Attributes of(CallContext call, String cached) {
        AttributesBuilder all = Attributes.builder();
        if (call.protocol() == ClientProtocol.GRPC) {
            rpc(all, call);
        } else {
            http(all, call);
        }
        if (isError(call)) {
            all.put("error.type", String.valueOf(call.code()));
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

    /** The spans of attempts, by the semantic conventions of HTTP clients and of gRPC clients, of copies and joined calls. */
    static final class AttemptAttributes {
        private static final int OK = 200;
        private static final Pattern SERVER = Pattern.compile("\\[?(.+?)]?:([0-9]{1,5})");

        private AttemptAttributes() {}

        /** The name of the span. */
        static String name(Operation operation, AttemptTarget target) {
            return switch (target.wire()) {
                case PROTOBUF -> OperationNames.method(operation);
                case REST -> verb(operation) + ' ' + operation.path(target.model());
                case DECODED -> "infer";
            };
        }

        private static String verb(Operation operation) {
            return operation.posts() ? "POST" : "GET";
        }

        /** @param code null if it has not failed */
        static Attributes of(Operation operation, AttemptTarget target, @Nullable ErrorCode code) {
            AttributesBuilder all = Attributes.builder();
            server(all, target.server());
            if (target.wire() == Wire.PROTOBUF) {
                all.put("rpc.system.name", "grpc");
                all.put("rpc.method", OperationNames.method(operation));
                all.put("rpc.response.status_code", CallAttributes.grpcStatus(code));
            } else if (target.wire() == Wire.REST) {
                all.put("http.request.method", verb(operation));
                all.put("url.template", operation.path(target.model()));
                if (code == null) {
                    all.put("http.response.status_code", OK);
                }
                if (target.number() > 1) {
                    all.put("http.request.resend_count", target.number() - 1);
                }
            }
            if (operation instanceof Operation.Generate) {
                generative(all, target.model());
            }
            all.put("isthmus.attempt", target.number());
            CallAttributes.put(all, "isthmus.upstream", target.upstream());
            CallAttributes.put(all, "isthmus.served_model", target.model().name());
            CallAttributes.put(all, "isthmus.served_version", target.model().version());
            return failed(all, code).build();
        }

        /** @param code null if it has not failed */
        static Attributes ofCopy(String shadow, @Nullable ErrorCode code) {
            return failed(Attributes.builder().put("isthmus.shadow", shadow), code)
                    .build();
        }

        /** @param code null if it has not failed */
        static Attributes ofJoined(int calls, @Nullable ErrorCode code) {
            return failed(Attributes.builder().put("isthmus.joined", calls), code)
                    .build();
        }

        /** The attributes of a request of the generate extension. */
        static void generative(AttributesBuilder all, ModelRef model) {
            all.put("gen_ai.operation.name", "text_completion");
            CallAttributes.put(all, "gen_ai.request.model", model.name());
        }

        private static AttributesBuilder failed(AttributesBuilder all, @Nullable ErrorCode code) {
            return code == null ? all : all.put("error.type", code.name());
        }

        /** @param label address and port */
        private static void server(AttributesBuilder all, String label) {
            Matcher server = SERVER.matcher(label);
            if (server.matches()) {
                all.put("server.address", server.group(1));
                all.put("server.port", Long.parseLong(server.group(2)));
            }
        }
    }

    /** The names of gRPC methods in spans. */
    static final class OperationNames {
        /** A method that the gateway does not know. */
        static final String OTHER = "_OTHER";

        private static final String SERVICE = "inference.GRPCInferenceService/";
        private static final Set<String> METHODS = methods();

        private OperationNames() {}

        private static Set<String> methods() {
            Set<String> all = new TreeSet<>(Set.of(
                    "grpc.health.v1.Health/Check",
                    "grpc.health.v1.Health/Watch",
                    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
            for (OperationKind kind : OperationKind.values()) {
                all.add(SERVICE + kind.grpcMethod());
            }
            all.remove(SERVICE);
            for (Extension extension : Extension.values()) {
                all.add(SERVICE + extension.grpcMethod());
            }
            return Set.copyOf(all);
        }

        /** The method of a gRPC request's path; {@link #OTHER} if it is unknown, so that clients do not make up names. */
        static String received(String path) {
            String method = path.isEmpty() ? path : path.substring(1);
            return METHODS.contains(method) ? method : OTHER;
        }

        /** The method that a gRPC server is asked for. */
        static String method(Operation operation) {
            return SERVICE + operation.grpcMethod();
        }
    }
}
