package dev.isthmus.gateway.ingress;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import com.google.protobuf.WireFormat;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.extension.Extension;
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
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** From a gRPC request's method and message to its operation. */
final class GrpcRoutes {
    private static final String SERVICE = "/inference.GRPCInferenceService/";
    private static final String INFER = "ModelInfer";
    private static final String STREAM = "ModelStreamInfer";
    private static final ModelRef NO_MODEL = ModelRef.of("");
    /** Tags of {@link RepositoryModelLoadRequest} and {@link RepositoryModelUnloadRequest}. */
    private static final int REPOSITORY_NAME = 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;

    private static final int MODEL_NAME = 2 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
    /** Of such a message, each parameter being one. */
    private static final int MOST_FIELDS = 1024;

    private static final int MOST_NAME = 64 << 10;

    /** By path. */
    private static final Map<String, GrpcMethod> METHODS = new HashMap<>();

    /** Makes the operation of a method out of its message. */
    @FunctionalInterface
    private interface OperationReader {
        Operation read(ByteBuf message) throws InvalidProtocolBufferException;
    }

    /** A method that is served. */
    static final class GrpcMethod {
        private final @Nullable OperationReader reader;
        private final boolean inference;
        private final boolean large;

        private GrpcMethod(@Nullable OperationReader reader, boolean inference, boolean large) {
            this.reader = reader;
            this.inference = inference;
            this.large = large;
        }

        /** What of these holds for its messages. */
        InflationLimits limits(BodyLimits bodies) {
            return large ? bodies.large() : bodies.small();
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
        METHODS.put(SERVICE + STREAM, new GrpcMethod(null, false, true));
        unary("ServerLive", message -> new Operation.ServerLive());
        unary("ServerReady", message -> new Operation.ServerReady());
        unary("ServerMetadata", message -> new Operation.ReadServerMetadata());
        unary("ModelReady", message -> {
            var request = parsed(ModelReadyRequest.parser(), message);
            return new Operation.ModelReady(new ModelRef(request.getName(), request.getVersion()));
        });
        unary("ModelMetadata", message -> {
            var request = parsed(ModelMetadataRequest.parser(), message);
            return new Operation.ReadModelMetadata(new ModelRef(request.getName(), request.getVersion()));
        });
        unary(INFER, message -> {
            ProtobufReader.Outline outline = ProtobufReader.outline(message);
            return new Operation.Infer(outline.model(), new BodyForm.ProtobufForm(outline, null), false);
        });
        for (Extension extension : Extension.values()) {
            METHODS.put(
                    SERVICE + extension.grpcMethod(),
                    new GrpcMethod(message -> manage(extension, message), false, extension.carriesFiles()));
        }
    }

    private GrpcRoutes() {}

    private static void unary(String method, OperationReader reader) {
        boolean inference = method.equals(INFER);
        METHODS.put(SERVICE + method, new GrpcMethod(reader, inference, inference));
    }

    /**
     * The method of this path.
     *
     * @throws OipException UNIMPLEMENTED for a method that is not served
     */
    static GrpcMethod method(String path) {
        GrpcMethod method = METHODS.get(path);
        if (method == null) {
            throw new OipException(ErrorCode.UNIMPLEMENTED, "method " + path + " is not served");
        }
        return method;
    }

    private static Operation manage(Extension extension, ByteBuf message) throws InvalidProtocolBufferException {
        return switch (extension) {
            case MODEL_CONFIG -> {
                var request = parsed(ModelConfigRequest.parser(), message);
                yield of(extension, new ModelRef(request.getName(), request.getVersion()), "", false);
            }
            case MODEL_STATISTICS -> {
                var request = parsed(ModelStatisticsRequest.parser(), message);
                yield of(extension, new ModelRef(request.getName(), request.getVersion()), "", false);
            }
            case TRACE_SETTING -> {
                var request = parsed(TraceSettingRequest.parser(), message);
                yield of(extension, ModelRef.of(request.getModelName()), "", request.getSettingsCount() > 0);
            }
            case LOG_SETTINGS ->
                of(
                        extension,
                        NO_MODEL,
                        "",
                        parsed(LogSettingsRequest.parser(), message).getSettingsCount() > 0);
            case REPOSITORY_INDEX ->
                of(
                        extension,
                        NO_MODEL,
                        parsed(RepositoryIndexRequest.parser(), message).getRepositoryName(),
                        true);
            case REPOSITORY_LOAD, REPOSITORY_UNLOAD -> change(extension, message);
            case SYSTEM_SHARED_MEMORY_STATUS ->
                region(
                        extension,
                        parsed(SystemSharedMemoryStatusRequest.parser(), message)
                                .getName(),
                        false);
            case SYSTEM_SHARED_MEMORY_REGISTER ->
                region(
                        extension,
                        parsed(SystemSharedMemoryRegisterRequest.parser(), message)
                                .getName(),
                        true);
            case SYSTEM_SHARED_MEMORY_UNREGISTER ->
                region(
                        extension,
                        parsed(SystemSharedMemoryUnregisterRequest.parser(), message)
                                .getName(),
                        true);
            case CUDA_SHARED_MEMORY_STATUS ->
                region(
                        extension,
                        parsed(CudaSharedMemoryStatusRequest.parser(), message).getName(),
                        false);
            case CUDA_SHARED_MEMORY_REGISTER ->
                region(
                        extension,
                        parsed(CudaSharedMemoryRegisterRequest.parser(), message)
                                .getName(),
                        true);
            case CUDA_SHARED_MEMORY_UNREGISTER ->
                region(
                        extension,
                        parsed(CudaSharedMemoryUnregisterRequest.parser(), message)
                                .getName(),
                        true);
        };
    }

    /** Nothing is kept of fields that nobody reads. */
    private static <M extends Message> M parsed(Parser<M> parser, ByteBuf message)
            throws InvalidProtocolBufferException {
        return DiscardUnknownFieldsParser.wrap(parser).parseFrom(message.nioBuffer());
    }

    /** The parameters may be whole models: they are left where they are. */
    private static Operation change(Extension extension, ByteBuf message) throws InvalidProtocolBufferException {
        CodedInputStream in = CodedInputStream.newInstance(Arrays.asList(message.nioBuffers()));
        String repository = "";
        String model = "";
        try {
            int fields = 0;
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (++fields > MOST_FIELDS) {
                    throw OipException.invalid(extension + ": at most " + MOST_FIELDS + " fields are taken");
                }
                switch (tag) {
                    case REPOSITORY_NAME -> repository = name(in);
                    case MODEL_NAME -> model = name(in);
                    default -> in.skipField(tag);
                }
            }
        } catch (InvalidProtocolBufferException e) {
            throw e;
        } catch (IOException e) {
            throw new InvalidProtocolBufferException(e);
        }
        return of(extension, ModelRef.of(model), repository, true);
    }

    private static String name(CodedInputStream in) throws IOException {
        int length = in.readUInt32();
        if (length < 0 || length > MOST_NAME) {
            throw OipException.invalid(
                    "a name: at most " + MOST_NAME + " bytes are taken, got " + Integer.toUnsignedString(length));
        }
        ByteString name = ByteString.copyFrom(in.readRawBytes(length));
        if (!name.isValidUtf8()) {
            throw new InvalidProtocolBufferException("a name is no UTF-8");
        }
        return name.toStringUtf8();
    }

    private static Operation of(Extension extension, ModelRef model, String resource, boolean change) {
        return new Operation.Manage(extension, model, resource, change, false);
    }

    private static Operation region(Extension extension, String name, boolean change) {
        return of(extension, NO_MODEL, name, change);
    }
}
