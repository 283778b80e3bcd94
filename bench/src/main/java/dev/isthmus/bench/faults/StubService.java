package dev.isthmus.bench.faults;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelMetadataResponse.TensorMetadata;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.ServerLiveResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * A V2 server for any model. It responds to inference requests after a fixed time and records them in its ledgers. Runs
 * on one event loop. Only requests with a numeric id are counted; others serve as warm-up.
 */
final class StubService {
    /** How many times as long a slow server takes. */
    static final int SLOW_FACTOR = 20;

    private static final int MAX_MODELS = 64;
    private static final ByteString OUTPUT = ByteString.copyFrom(new byte[16]);

    private final String name;
    private final Path folder;
    private final long serviceMicros;
    private final ScheduledExecutorService loop;
    private final Map<String, Ledger> ledgers = new HashMap<>();
    private volatile boolean failing;
    private volatile boolean slow;

    StubService(String name, Path folder, long serviceMicros, ScheduledExecutorService loop) {
        this.name = name;
        this.folder = folder;
        this.serviceMicros = serviceMicros;
        this.loop = loop;
    }

    /** Sets whether inference fails with UNAVAILABLE; health checks still succeed. Thread-safe. */
    void failing(boolean on) {
        failing = on;
    }

    /** Sets whether inference takes {@link #SLOW_FACTOR} times as long. Thread-safe. */
    void slow(boolean on) {
        slow = on;
    }

    ServerServiceDefinition definition() {
        return ServerServiceDefinition.builder(RawMethods.SERVICE)
                .addMethod(RawMethods.of("ModelInfer"), (call, headers) -> listen(call, this::infer))
                .addMethod(RawMethods.of("ServerLive"), answering(live()))
                .addMethod(RawMethods.of("ServerReady"), answering(ready()))
                .addMethod(RawMethods.of("ModelReady"), answering(modelReady()))
                .addMethod(RawMethods.of("ServerMetadata"), answering(serverMetadata()))
                .addMethod(RawMethods.of("ModelMetadata"), (call, headers) -> listen(call, this::modelMetadata))
                .addMethod(RawMethods.of("RepositoryIndex"), answering(index()))
                .build();
    }

    private static MessageLite live() {
        return ServerLiveResponse.newBuilder().setLive(true).build();
    }

    private static MessageLite ready() {
        return ServerReadyResponse.newBuilder().setReady(true).build();
    }

    private static MessageLite modelReady() {
        return ModelReadyResponse.newBuilder().setReady(true).build();
    }

    private MessageLite serverMetadata() {
        return ServerMetadataResponse.newBuilder()
                .setName(name)
                .setVersion("1")
                .addExtensions("model_repository")
                .build();
    }

    private static MessageLite index() {
        return RepositoryIndexResponse.newBuilder()
                .addModels(RepositoryIndexResponse.ModelIndex.newBuilder()
                        .setName(Request.MODEL)
                        .setVersion("1")
                        .setState("READY"))
                .build();
    }

    private void modelMetadata(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException {
        TensorMetadata tensor = TensorMetadata.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addAllShape(List.of(-1L, 4L))
                .build();
        answer(
                call,
                ModelMetadataResponse.newBuilder()
                        .setName(ModelMetadataRequest.parseFrom(message).getName())
                        .addVersions("1")
                        .setPlatform("stub")
                        .addInputs(tensor)
                        .addOutputs(tensor.toBuilder().setName("y"))
                        .build());
    }

    private void infer(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException {
        ModelInferRequest request = ModelInferRequest.parseFrom(message);
        Ledger ledger = ledger(request.getModelName());
        boolean counted = ledger.arrived(Request.number(request.getId()));
        if (failing) {
            end(ledger, counted);
            close(call, Status.UNAVAILABLE.withDescription("this stub was told to fail"));
            return;
        }
        loop.schedule(
                () -> {
                    end(ledger, counted);
                    answer(call, inferred(request));
                },
                slow ? serviceMicros * SLOW_FACTOR : serviceMicros,
                TimeUnit.MICROSECONDS);
    }

    private static void end(Ledger ledger, boolean counted) {
        if (counted) {
            ledger.completed();
        }
    }

    private Ledger ledger(String model) {
        Ledger known = ledgers.get(model);
        if (known != null) {
            return known;
        }
        if (ledgers.size() == MAX_MODELS) {
            throw new IllegalStateException(
                    "model '" + model + "' exceeds the limit of " + MAX_MODELS + " counted models");
        }
        try {
            Ledger opened = Ledger.open(Ledgers.file(folder, name, model.replaceAll("[^0-9A-Za-z-]", "-")));
            ledgers.put(model, opened);
            return opened;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MessageLite inferred(ModelInferRequest request) {
        return ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setModelVersion("1")
                .setId(request.getId())
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName("y")
                        .setDatatype("FP32")
                        .addShape(1)
                        .addShape(4))
                .addRawOutputContents(OUTPUT)
                .build();
    }

    private static ServerCallHandler<byte[], byte[]> answering(MessageLite response) {
        return (call, headers) -> listen(call, (asked, message) -> answer(asked, response));
    }

    /** Handles the message of a call. */
    private interface Handler {
        void take(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException;
    }

    private static ServerCall.Listener<byte[]> listen(ServerCall<byte[], byte[]> call, Handler handler) {
        call.request(2);
        return new ServerCall.Listener<>() {
            @Override
            public void onMessage(byte[] message) {
                try {
                    handler.take(call, message);
                } catch (InvalidProtocolBufferException e) {
                    close(call, Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
                }
            }
        };
    }

    private static void answer(ServerCall<byte[], byte[]> call, MessageLite response) {
        if (!call.isCancelled()) {
            call.sendHeaders(new Metadata());
            call.sendMessage(response.toByteArray());
            close(call, Status.OK);
        }
    }

    private static void close(ServerCall<byte[], byte[]> call, Status status) {
        if (!call.isCancelled()) {
            call.close(status, new Metadata());
        }
    }
}
