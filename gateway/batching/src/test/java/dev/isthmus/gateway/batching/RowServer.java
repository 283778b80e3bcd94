package dev.isthmus.gateway.batching;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferRequest.InferInputTensor;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelInferResponse.InferOutputTensor;
import dev.isthmus.proto.config.ModelConfig;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.UncheckedIOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A gRPC server with a model whose outputs are its inputs, with the request's parameters. It answers when the test says
 * so; a request with {@link #POISON} in it fails.
 */
final class RowServer implements AutoCloseable {
    static final ByteString POISON = ByteString.copyFromUtf8("poison");

    final FakeGrpcServer server;
    private final BlockingQueue<HeldRequest> held = new LinkedBlockingQueue<>();
    /** How often the configuration of the model was asked for. */
    final AtomicInteger configurationsRead = new AtomicInteger();
    /** In the configuration of the model; negative if the server has no configurations. */
    volatile int maxBatchSize = -1;

    /** A request that was not answered yet. */
    record HeldRequest(ModelInferRequest request, ServerCall<byte[], byte[]> call) {

        void answer() {
            if (request.getRawInputContentsList().stream().anyMatch(RowServer::poisoned)) {
                fail(Status.INTERNAL.withDescription("poisoned"));
            } else {
                FakeGrpcServer.respond(call, RowServer.answer(request).toByteArray());
            }
        }

        void fail(Status status) {
            call.close(status, new Metadata());
        }

        long rows() {
            return request.getInputs(0).getShape(0);
        }
    }

    RowServer() throws Exception {
        server = FakeGrpcServer.unary((message, call) -> {
            if ("ModelConfig".equals(call.getMethodDescriptor().getBareMethodName())) {
                describe(call);
            } else {
                held.add(new HeldRequest(parsed(message), call));
            }
        });
    }

    private void describe(ServerCall<byte[], byte[]> call) {
        configurationsRead.incrementAndGet();
        if (maxBatchSize < 0) {
            call.close(Status.UNIMPLEMENTED, new Metadata());
            return;
        }
        FakeGrpcServer.respond(call, configuration(maxBatchSize));
    }

    /** The response to a request for the configuration of the model. */
    static byte[] configuration(int maxBatchSize) {
        ModelConfig config = ModelConfig.newBuilder()
                .setName("m")
                .setMaxBatchSize(maxBatchSize)
                .build();
        return ModelConfigResponse.newBuilder()
                .setConfig(config.toByteString())
                .build()
                .toByteArray();
    }

    Endpoint endpoint() {
        return server.endpoint();
    }

    /** The next request, which is to be answered. */
    HeldRequest next() throws InterruptedException {
        return FakeGrpcServer.next(held);
    }

    boolean idle() {
        return held.isEmpty();
    }

    private static boolean poisoned(ByteString content) {
        for (int i = 0; i + POISON.size() <= content.size(); i++) {
            if (content.substring(i, i + POISON.size()).equals(POISON)) {
                return true;
            }
        }
        return false;
    }

    private static ModelInferRequest parsed(byte[] message) {
        try {
            return ModelInferRequest.parseFrom(message);
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What it answers to a request. */
    static ModelInferResponse answer(ModelInferRequest request) {
        ModelInferResponse.Builder response = ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setModelVersion("3")
                .setId(request.getId())
                .putAllParameters(request.getParametersMap());
        for (InferInputTensor input : request.getInputsList()) {
            InferOutputTensor.Builder output = InferOutputTensor.newBuilder()
                    .setName("OUT_" + input.getName())
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
        server.close();
    }
}
