package dev.isthmus.gateway.ingress;

import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.health.HealthCheckRequest;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Maps a gRPC request's method and message to its operation. */
final class GrpcRoutes {
    private static final String SERVICE = "/inference.GRPCInferenceService/";
    private static final String HEALTH = "/grpc.health.v1.Health/";

    /** By path. */
    private static final Map<String, GrpcMethod> METHODS = new HashMap<>();

    /** Whether it is the path of a method. */
    static boolean serves(String path) {
        return METHODS.containsKey(path);
    }

    /** Reads the operation of a method from its message. */
    @FunctionalInterface
    interface OperationReader {
        Operation read(ByteBuf message) throws InvalidProtocolBufferException;
    }

    /**
     * A supported method.
     *
     * @param reader of its one message; null if it has any number of requests and responses
     * @param permission what a caller needs to be allowed
     * @param inference whether its one message is a ModelInferRequest
     */
    record GrpcMethod(@Nullable OperationReader reader, Permission permission, boolean inference, boolean large) {
        /** The limit for its messages. */
        InflationLimits limits(BodyLimits bodies) {
            return large ? bodies.large() : bodies.small();
        }

        /** Whether it has any number of requests and responses. */
        boolean streams() {
            return reader == null;
        }

        /** The operation of a method that streams. */
        Operation operation(StreamMessageForm form) {
            return infersStream()
                    ? new Operation.InferStream(form == StreamMessageForm.TRITON)
                    : new Operation.Reflect();
        }

        /** Whether its messages are the requests of ModelStreamInfer. */
        boolean infersStream() {
            return streams() && large;
        }

        /**
         * The operation of a unary method.
         *
         * @param message borrowed
         * @throws OipException INVALID_ARGUMENT for a malformed message
         */
        Operation operation(ByteBuf message) {
            try {
                return Objects.requireNonNull(reader).read(message);
            } catch (InvalidProtocolBufferException e) {
                throw new OipException(ErrorCode.INVALID_ARGUMENT, "malformed protobuf message", e);
            }
        }
    }

    static {
        METHODS.put(
                SERVICE + OperationKind.INFER_STREAM.grpcMethod(),
                new GrpcMethod(null, Permission.STREAM, false, true));
        for (String version : List.of("v1", "v1alpha")) {
            METHODS.put(
                    "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo",
                    new GrpcMethod(null, Permission.METADATA, false, false));
        }
        METHODS.put(HEALTH + "Check", health(false));
        METHODS.put(HEALTH + "Watch", health(true));
        unary(OperationKind.SERVER_LIVE, message -> new Operation.ServerLive());
        unary(OperationKind.SERVER_READY, message -> new Operation.ServerReady());
        unary(OperationKind.SERVER_METADATA, message -> new Operation.ReadServerMetadata());
        unary(OperationKind.MODEL_READY, message -> {
            var request = parsed(ModelReadyRequest.parser(), message);
            return new Operation.ModelReady(new ModelRef(request.getName(), request.getVersion()));
        });
        unary(OperationKind.MODEL_METADATA, message -> {
            var request = parsed(ModelMetadataRequest.parser(), message);
            return new Operation.ReadModelMetadata(new ModelRef(request.getName(), request.getVersion()));
        });
        unary(OperationKind.INFER, message -> {
            ProtobufReader.Outline outline = ProtobufReader.outline(message);
            return new Operation.Infer(outline.model(), new BodyForm.ProtobufForm(outline, null), false);
        });
        for (Extension extension : Extension.values()) {
            METHODS.put(
                    SERVICE + extension.grpcMethod(),
                    new GrpcMethod(
                            message -> manage(extension, message),
                            extension.permission(),
                            false,
                            extension.carriesFiles()));
        }
    }

    private GrpcRoutes() {}

    private static void unary(OperationKind kind, OperationReader reader) {
        boolean inference = kind == OperationKind.INFER;
        METHODS.put(SERVICE + kind.grpcMethod(), new GrpcMethod(reader, kind.permission(), inference, inference));
    }

    private static GrpcMethod health(boolean watch) {
        return new GrpcMethod(
                message -> new Operation.CheckHealth(
                        readiness(parsed(HealthCheckRequest.parser(), message).getService()), watch),
                Permission.HEALTH,
                false,
                false);
    }

    /** Returns the operation that tells the state of a service: of the gateway, all of its models, or one of them. */
    private static Operation readiness(String service) {
        if (service.isEmpty()) {
            return new Operation.GatewayReady();
        }
        if (SERVICE.equals("/" + service + "/")) {
            return new Operation.ServerReady();
        }
        int slash = service.indexOf('/');
        return new Operation.ModelReady(
                slash < 0
                        ? ModelRef.of(service)
                        : new ModelRef(service.substring(0, slash), service.substring(slash + 1)));
    }

    /**
     * The method of this path.
     *
     * @throws OipException UNIMPLEMENTED for an unknown method
     */
    static GrpcMethod method(String path) {
        GrpcMethod method = METHODS.get(path);
        if (method == null) {
            throw new OipException(ErrorCode.UNIMPLEMENTED, "method " + path + " is not supported");
        }
        return method;
    }

    private static Operation manage(Extension extension, ByteBuf message) throws InvalidProtocolBufferException {
        Extension.GrpcRequest request = extension.read(message);
        return new Operation.Manage(
                extension, request.model(), request.resource(), request.change(), false, request.modelFirst());
    }

    /** Discards unknown fields. */
    private static <M extends Message> M parsed(Parser<M> parser, ByteBuf message)
            throws InvalidProtocolBufferException {
        return DiscardUnknownFieldsParser.wrap(parser).parseFrom(message.nioBuffer());
    }
}
