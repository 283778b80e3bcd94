package dev.isthmus.gateway.ingress;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Extension;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import dev.isthmus.proto.CudaSharedMemoryStatusRequest;
import dev.isthmus.proto.CudaSharedMemoryUnregisterRequest;
import dev.isthmus.proto.LogSettingsRequest;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.SystemSharedMemoryRegisterRequest;
import dev.isthmus.proto.SystemSharedMemoryStatusRequest;
import dev.isthmus.proto.SystemSharedMemoryUnregisterRequest;
import dev.isthmus.proto.TraceSettingRequest;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** From a gRPC request's method and message to its operation. */
final class GrpcRoutes {
    private static final String SERVICE = "/inference.GRPCInferenceService/";
    private static final String INFER = "ModelInfer";
    private static final String STREAM = "ModelStreamInfer";
    private static final ModelRef NO_MODEL = ModelRef.of("");

    /** By path. */
    private static final Map<String, Method> METHODS = new HashMap<>();

    /** Makes the operation of a method out of its message. */
    @FunctionalInterface
    private interface Reader {
        Operation read(ByteBuf message) throws InvalidProtocolBufferException;
    }

    /** A method that is served. */
    static final class Method {
        private final @Nullable Reader reader;
        private final boolean inference;

        private Method(@Nullable Reader reader, boolean inference) {
            this.reader = reader;
            this.inference = inference;
        }

        /** Whether its one message is a ModelInferRequest. */
        boolean inference() {
            return inference;
        }

        /** Whether it takes and gives any number of messages. */
        boolean streams() {
            return reader == null;
        }

        /**
         * The operation of a method that takes one message.
         *
         * @param message borrowed
         * @throws OipException INVALID_ARGUMENT for a malformed message
         */
        Operation operation(ByteBuf message) {
            if (reader == null) {
                throw new IllegalStateException("a stream of messages is not one operation");
            }
            try {
                return reader.read(message);
            } catch (InvalidProtocolBufferException e) {
                throw new OipException(ErrorCode.INVALID_ARGUMENT, "malformed protobuf message", e);
            }
        }
    }

    static {
        METHODS.put(SERVICE + STREAM, new Method(null, false));
        unary("ServerLive", message -> new Operation.ServerLive());
        unary("ServerReady", message -> new Operation.ServerReady());
        unary("ServerMetadata", message -> new Operation.ServerMetadata());
        unary("ModelReady", message -> {
            var request = ModelReadyRequest.parseFrom(message.nioBuffer());
            return new Operation.ModelReady(new ModelRef(request.getName(), request.getVersion()));
        });
        unary("ModelMetadata", message -> {
            var request = ModelMetadataRequest.parseFrom(message.nioBuffer());
            return new Operation.ModelMetadata(new ModelRef(request.getName(), request.getVersion()));
        });
        unary(INFER, message -> {
            ProtobufReader.Outline outline = ProtobufReader.outline(message);
            return new Operation.Infer(outline.model(), new BodyForm.Protobuf(outline, null), false);
        });
        for (Extension extension : Extension.values()) {
            unary(extension.grpcMethod(), message -> manage(extension, message.nioBuffer()));
        }
    }

    private GrpcRoutes() {}

    private static void unary(String method, Reader reader) {
        METHODS.put(SERVICE + method, new Method(reader, method.equals(INFER)));
    }

    /**
     * The method of this path.
     *
     * @throws OipException UNIMPLEMENTED for a method that is not served
     */
    static Method method(String path) {
        Method method = METHODS.get(path);
        if (method == null) {
            throw new OipException(ErrorCode.UNIMPLEMENTED, "method " + path + " is not served");
        }
        return method;
    }

    private static Operation manage(Extension extension, ByteBuffer message) throws InvalidProtocolBufferException {
        return switch (extension) {
            case MODEL_CONFIG -> {
                var request = ModelConfigRequest.parseFrom(message);
                yield of(extension, new ModelRef(request.getName(), request.getVersion()), "", false);
            }
            case MODEL_STATISTICS -> {
                var request = ModelStatisticsRequest.parseFrom(message);
                yield of(extension, new ModelRef(request.getName(), request.getVersion()), "", false);
            }
            case TRACE_SETTING -> {
                var request = TraceSettingRequest.parseFrom(message);
                yield of(extension, ModelRef.of(request.getModelName()), "", request.getSettingsCount() > 0);
            }
            case LOG_SETTINGS ->
                of(
                        extension,
                        NO_MODEL,
                        "",
                        LogSettingsRequest.parseFrom(message).getSettingsCount() > 0);
            case REPOSITORY_INDEX ->
                of(
                        extension,
                        NO_MODEL,
                        RepositoryIndexRequest.parseFrom(message).getRepositoryName(),
                        true);
            case REPOSITORY_LOAD -> {
                var request = RepositoryModelLoadRequest.parseFrom(message);
                yield of(extension, ModelRef.of(request.getModelName()), request.getRepositoryName(), true);
            }
            case REPOSITORY_UNLOAD -> {
                var request = RepositoryModelUnloadRequest.parseFrom(message);
                yield of(extension, ModelRef.of(request.getModelName()), request.getRepositoryName(), true);
            }
            case SYSTEM_SHARED_MEMORY_STATUS ->
                region(
                        extension,
                        SystemSharedMemoryStatusRequest.parseFrom(message).getName(),
                        false);
            case SYSTEM_SHARED_MEMORY_REGISTER ->
                region(
                        extension,
                        SystemSharedMemoryRegisterRequest.parseFrom(message).getName(),
                        true);
            case SYSTEM_SHARED_MEMORY_UNREGISTER ->
                region(
                        extension,
                        SystemSharedMemoryUnregisterRequest.parseFrom(message).getName(),
                        true);
            case CUDA_SHARED_MEMORY_STATUS ->
                region(
                        extension,
                        CudaSharedMemoryStatusRequest.parseFrom(message).getName(),
                        false);
            case CUDA_SHARED_MEMORY_REGISTER ->
                region(
                        extension,
                        CudaSharedMemoryRegisterRequest.parseFrom(message).getName(),
                        true);
            case CUDA_SHARED_MEMORY_UNREGISTER ->
                region(
                        extension,
                        CudaSharedMemoryUnregisterRequest.parseFrom(message).getName(),
                        true);
        };
    }

    private static Operation of(Extension extension, ModelRef model, String resource, boolean change) {
        return new Operation.Manage(extension, model, resource, change, false);
    }

    private static Operation region(Extension extension, String name, boolean change) {
        return of(extension, NO_MODEL, name, change);
    }
}
