package dev.isthmus.bench.fuzz;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import dev.isthmus.proto.ServerLiveResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A V2 server over gRPC that returns the inputs of each inference as outputs of the same names. Always correct. */
final class CorrectServer implements AutoCloseable {
    private static final int MAX_MESSAGE = 64 << 20;
    private static final int MAX_METADATA = 1 << 20;

    private final Server server;

    CorrectServer() throws IOException {
        MethodDescriptor<byte[], byte[]> stream = RawMethods.of("ModelStreamInfer").toBuilder()
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                .build();
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .directExecutor()
                .maxInboundMessageSize(MAX_MESSAGE)
                .maxInboundMetadataSize(MAX_METADATA)
                .addService(ServerServiceDefinition.builder(RawMethods.SERVICE)
                        .addMethod(RawMethods.of("ModelInfer"), answering(CorrectServer::echo, true))
                        .addMethod(stream, answering(CorrectServer::streamed, false))
                        .addMethod(
                                RawMethods.of("ServerLive"),
                                always(ServerLiveResponse.newBuilder()
                                        .setLive(true)
                                        .build()))
                        .addMethod(
                                RawMethods.of("ServerReady"),
                                always(ServerReadyResponse.newBuilder()
                                        .setReady(true)
                                        .build()))
                        .addMethod(
                                RawMethods.of("ModelReady"),
                                always(ModelReadyResponse.newBuilder()
                                        .setReady(true)
                                        .build()))
                        .addMethod(
                                RawMethods.of("ServerMetadata"),
                                always(ServerMetadataResponse.newBuilder()
                                        .setName("echo")
                                        .setVersion("1")
                                        .build()))
                        .build())
                .build()
                .start();
    }

    int port() {
        return server.getPort();
    }

    private interface Answer {
        MessageLite to(byte[] message) throws InvalidProtocolBufferException;
    }

    private static ServerCallHandler<byte[], byte[]> always(MessageLite answer) {
        return answering(message -> answer, true);
    }

    private static ServerCallHandler<byte[], byte[]> answering(Answer answer, boolean unary) {
        return (call, headers) -> {
            call.sendHeaders(new Metadata());
            call.request(unary ? 2 : 1);
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(byte[] message) {
                    if (call.isCancelled()) {
                        return;
                    }
                    try {
                        call.sendMessage(answer.to(message).toByteArray());
                    } catch (InvalidProtocolBufferException e) {
                        call.close(Status.INVALID_ARGUMENT.withDescription(e.getMessage()), new Metadata());
                        return;
                    }
                    if (unary) {
                        call.close(Status.OK, new Metadata());
                    } else {
                        call.request(1);
                    }
                }

                @Override
                public void onHalfClose() {
                    if (!unary && !call.isCancelled()) {
                        call.close(Status.OK, new Metadata());
                    }
                }
            };
        };
    }

    private static MessageLite streamed(byte[] message) throws InvalidProtocolBufferException {
        return ModelStreamInferResponse.newBuilder()
                .setInferResponse(echo(message))
                .build();
    }

    private static ModelInferResponse echo(byte[] message) throws InvalidProtocolBufferException {
        ModelInferRequest request = ModelInferRequest.parseFrom(message);
        ModelInferResponse.Builder response = ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setModelVersion("1")
                .setId(request.getId());
        for (ModelInferRequest.InferInputTensor input : request.getInputsList()) {
            ModelInferResponse.InferOutputTensor.Builder output = ModelInferResponse.InferOutputTensor.newBuilder()
                    .setName(input.getName())
                    .setDatatype(input.getDatatype())
                    .addAllShape(input.getShapeList());
            if (input.hasContents()) {
                output.setContents(input.getContents());
            }
            response.addOutputs(output);
        }
        return response.addAllRawOutputContents(request.getRawInputContentsList())
                .build();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }
}
