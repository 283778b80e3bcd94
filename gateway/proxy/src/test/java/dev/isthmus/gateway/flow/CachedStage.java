package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.IOException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/** A data plane with a cache for its model {@code m}, in front of a server that returns the inputs and counts. */
final class CachedStage implements AutoCloseable {
    static final String PATH = "/v2/models/m/infer";

    private final Stage stage;

    private CachedStage(Stage stage) {
        this.stage = stage;
    }

    static CachedStage of(UpstreamConfig server, Map<String, ?> cache) throws Exception {
        return new CachedStage(Stage.with(config(server, cache, Map.of())));
    }

    static GatewayConfig config(UpstreamConfig server, Map<String, ?> cache, Map<String, ?> model) {
        Map<String, Object> changes = new HashMap<>(model);
        changes.put("cache", TestConfigs.with(CacheConfig.DEFAULT, cache));
        return Stage.config(
                Map.of("server", server),
                Map.of("m", TestConfigs.with(ModelConfig.of("server"), changes)),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false);
    }

    Stage stage() {
        return stage;
    }

    /** The number of requests with this result. */
    double count(String result) {
        return stage.proxy()
                .meters()
                .get("isthmus.cache.requests")
                .tag("result", result)
                .counter()
                .count();
    }

    double unstored(String reason) {
        return stage.proxy()
                .meters()
                .get("isthmus.cache.unstored")
                .tag("reason", reason)
                .counter()
                .count();
    }

    /** A server that handles the single message of each inference, and nothing else. */
    static FakeGrpcServer server(BiConsumer<byte[], ServerCall<byte[], byte[]>> inference) throws IOException {
        return new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                inference.accept(message, call);
            }

            @Override
            public boolean eager() {
                return false;
            }

            @Override
            public boolean respondsAtOnce() {
                return false;
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {}
        });
    }

    /** A server whose outputs are the inputs; one with the id {@code fail} is refused. */
    static FakeGrpcServer echo(AtomicInteger inferences) throws IOException {
        return server((message, call) -> {
            ModelInferRequest request = Infer.request(message);
            inferences.incrementAndGet();
            if (request.getId().equals("fail")) {
                call.close(Status.INTERNAL.withDescription("as asked"), new Metadata());
                return;
            }
            FakeGrpcServer.respond(call, response(request).toByteArray());
        });
    }

    /** The outputs are in the order of their names, as those of a model are in an order of their own. */
    static ModelInferResponse response(ModelInferRequest request) {
        ModelInferResponse.Builder response = ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setModelVersion("7")
                .setId(request.getId());
        IntStream.range(0, request.getInputsCount())
                .boxed()
                .sorted(Comparator.comparing(each -> request.getInputs(each).getName()))
                .forEach(each -> output(request, each, response));
        return response.build();
    }

    private static void output(ModelInferRequest request, int index, ModelInferResponse.Builder response) {
        ModelInferRequest.InferInputTensor input = request.getInputs(index);
        ModelInferResponse.InferOutputTensor.Builder output = response.addOutputsBuilder()
                .setName("out-" + input.getName())
                .setDatatype(input.getDatatype())
                .addAllShape(input.getShapeList());
        if (input.hasContents()) {
            output.setContents(input.getContents());
        } else {
            response.addRawOutputContents(request.getRawInputContents(index));
        }
    }

    Http1Client.Response post(String json, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(PATH, json, headers).response();
        }
    }

    @Override
    public void close() {
        stage.close();
    }
}
