package dev.isthmus.gateway.ingress;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;

/** From a gRPC request's method and message to its operation. */
final class GrpcRoutes {
    static final String SERVICE = "/inference.GRPCInferenceService/";

    private GrpcRoutes() {}

    /** @throws OipException UNIMPLEMENTED for a method that is not served */
    static void requireServed(String path) {
        String method = path.startsWith(SERVICE) ? path.substring(SERVICE.length()) : "";
        switch (method) {
            case "ServerLive", "ServerReady", "ServerMetadata", "ModelReady", "ModelMetadata", "ModelInfer" -> {}
            default -> throw new OipException(ErrorCode.UNIMPLEMENTED, "method " + path + " is not served");
        }
    }

    /**
     * @param path one that {@link #requireServed} lets pass
     * @param message borrowed
     * @throws OipException INVALID_ARGUMENT for a malformed message
     */
    static Operation operation(String path, ByteBuf message) {
        try {
            return switch (path.substring(SERVICE.length())) {
                case "ServerLive" -> new Operation.ServerLive();
                case "ServerReady" -> new Operation.ServerReady();
                case "ServerMetadata" -> new Operation.ServerMetadata();
                case "ModelReady" -> {
                    ModelReadyRequest request = ModelReadyRequest.parseFrom(message.nioBuffer());
                    yield new Operation.ModelReady(new ModelRef(request.getName(), request.getVersion()));
                }
                case "ModelMetadata" -> {
                    ModelMetadataRequest request = ModelMetadataRequest.parseFrom(message.nioBuffer());
                    yield new Operation.ModelMetadata(new ModelRef(request.getName(), request.getVersion()));
                }
                default -> new Operation.Infer(ProtobufReader.peekModel(message), new BodyForm.Protobuf());
            };
        } catch (InvalidProtocolBufferException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "malformed protobuf message", e);
        }
    }
}
