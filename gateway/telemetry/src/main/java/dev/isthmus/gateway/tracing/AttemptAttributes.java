package dev.isthmus.gateway.tracing;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.Wire;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The spans of attempts, by the semantic conventions of HTTP clients and of gRPC clients, of copies and joined calls. */
final class AttemptAttributes {
    private static final int OK = 200;
    private static final Pattern SERVER = Pattern.compile("\\[?(.+?)]?:([0-9]{1,5})");

    private AttemptAttributes() {}

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
        return failed(Attributes.builder().put("isthmus.shadow", shadow), code).build();
    }

    /** @param code null if it has not failed */
    static Attributes ofJoined(int calls, @Nullable ErrorCode code) {
        return failed(Attributes.builder().put("isthmus.joined", calls), code).build();
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
