package dev.isthmus.bench.fuzz;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.bench.StubMethods;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
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
                .addService(new StubMethods("echo")
                        .respond("ModelInfer", CorrectServer::echo)
                        .service(method -> {})
                        .addMethod(stream, (call, headers) -> stream(call))
                        .build())
                .build()
                .start();
    }

    int port() {
        return server.getPort();
    }

    private static ServerCall.Listener<byte[]> stream(ServerCall<byte[], byte[]> call) {
        call.sendHeaders(new Metadata());
        call.request(1);
        return new ServerCall.Listener<>() {
            @Override
            public void onMessage(byte[] message) {
                if (!call.isCancelled()) {
                    StubMethods.take(call, message, CorrectServer::respond);
                }
            }

            @Override
            public void onHalfClose() {
                StubMethods.close(call, Status.OK);
            }
        };
    }

    private static void respond(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException {
        call.sendMessage(ModelStreamInferResponse.newBuilder()
                .setInferResponse(echo(message))
                .build()
                .toByteArray());
        call.request(1);
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
