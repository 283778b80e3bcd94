package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Large requests, streams and generations that wait for a real Redis: each call does, as the buckets are small. */
class SharedRatesInPartsTest {
    private static final int LARGE = 4 << 20;
    private static final MethodDescriptor<ModelInferRequest, ModelInferResponse> INFER =
            MethodDescriptor.<ModelInferRequest, ModelInferResponse>newBuilder()
                    .setType(MethodDescriptor.MethodType.UNARY)
                    .setFullMethodName(FakeGrpcServer.SERVICE + "/ModelInfer")
                    .setRequestMarshaller(ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()))
                    .setResponseMarshaller(ProtoUtils.marshaller(ModelInferResponse.getDefaultInstance()))
                    .build();
    private static final MethodDescriptor<ModelInferRequest, ModelStreamInferResponse> STREAM =
            MethodDescriptor.<ModelInferRequest, ModelStreamInferResponse>newBuilder()
                    .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                    .setFullMethodName(FakeGrpcServer.SERVICE + "/ModelStreamInfer")
                    .setRequestMarshaller(ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()))
                    .setResponseMarshaller(ProtoUtils.marshaller(ModelStreamInferResponse.getDefaultInstance()))
                    .build();

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;
    private static FakeGrpcServer grpc;
    private static FakeRestServer rest;
    private static ProxyServer gateway;
    private static ManagedChannel channel;

    /** Responds to each message with its model and id. */
    private record Echo() implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = parsed(message);
            ModelInferResponse response = ModelInferResponse.newBuilder()
                    .setModelName(request.getModelName())
                    .setId(request.getId())
                    .build();
            boolean stream = call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer");
            call.sendMessage(
                    stream
                            ? ModelStreamInferResponse.newBuilder()
                                    .setInferResponse(response)
                                    .build()
                                    .toByteArray()
                            : response.toByteArray());
            if (!stream) {
                call.close(Status.OK, new Metadata());
            }
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {
            if (call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer")) {
                call.close(Status.OK, new Metadata());
            }
        }
    }

    private static ModelInferRequest parsed(byte[] message) {
        try {
            return ModelInferRequest.parseFrom(message);
        } catch (com.google.protobuf.InvalidProtocolBufferException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.start(folder);
        grpc = new FakeGrpcServer(new Echo());
        rest = FakeRestServer.sending(FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[],\"text_output\":\"t\"}"));
        gateway = ProxyServer.start("""
                listeners: [{port: 0}]
                shared: {url: "redis://127.0.0.1:%d", timeout: 10s}
                upstreams:
                  grpc: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                  rest: {protocol: rest, endpoints: ["127.0.0.1:%d"]}
                models:
                  grpc: {upstream: grpc, rates: [{requests_per_second: 100, bytes_per_second: 1GiB}]}
                  rest: {upstream: rest, rates: [{requests_per_second: 100, bytes_per_second: 1GiB}]}
                  few: {upstream: grpc, rates: [{bytes_per_second: 1, burst: 250s}]}
                  none: {upstream: rest, rates: [{bytes_per_second: 1}]}
                """.formatted(
                        redis.port(), grpc.endpoint().port(), rest.endpoint().port()));
        channel = NettyChannelBuilder.forTarget(gateway.address())
                .usePlaintext()
                .maxInboundMessageSize(2 * LARGE)
                .build();
    }

    @AfterAll
    static void stop() throws Exception {
        channel.shutdownNow();
        channel.awaitTermination(20, TimeUnit.SECONDS);
        gateway.close();
        grpc.close();
        rest.close();
        redis.close();
    }

    private static ModelInferRequest request(String model, String id, int bytes) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId(id)
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("UINT8")
                        .addShape(bytes))
                .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
                .build();
    }

    @Test
    void largeMessage_arrivesWhole() throws Exception {
        ModelInferRequest request = request("grpc", "large", LARGE);
        ModelInferResponse response =
                ClientCalls.blockingUnaryCall(channel.newCall(INFER, CallOptions.DEFAULT), request);
        assertThat(response.getId()).isEqualTo("large");
        assertThat(grpc.messages).anySatisfy(message -> {
            assertThat(parsed(message).getId()).isEqualTo("large");
            assertThat(parsed(message).getRawInputContents(0).size()).isEqualTo(LARGE);
        });
    }

    private static HttpResponse<String> post(String path, String body) throws Exception {
        try (HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            URI uri = URI.create("http://" + gateway.address() + "/v2/models/" + path);
            HttpRequest request = HttpRequest.newBuilder(uri)
                    .header("content-type", "application/json")
                    .POST(BodyPublishers.ofString(body))
                    .build();
            return client.send(request, BodyHandlers.ofString());
        }
    }

    @Test
    void largeBody_arrivesWhole() throws Exception {
        String numbers = IntStream.range(0, LARGE / 4).mapToObj(i -> "1").collect(Collectors.joining(","));
        String body = "{\"id\":\"large\",\"inputs\":[{\"name\":\"x\",\"shape\":[" + LARGE / 4
                + "],\"datatype\":\"UINT8\",\"data\":[" + numbers + "]}]}";
        assertThat(post("rest/infer", body).statusCode()).isEqualTo(200);
        FakeRestServer.RestRequest received = rest.request();
        while (!received.head().startsWith("POST /v2/models/rest/infer")) {
            received = rest.request();
        }
        assertThat(received.body().getBytes(StandardCharsets.UTF_8).length).isEqualTo(body.length());
    }

    @Test
    void generation_isSent_orRefused() throws Exception {
        HttpResponse<String> generated = post("rest/generate", "{\"text_input\":\"t\"}");
        assertThat(generated.statusCode()).as(generated.body()).isEqualTo(200);
        HttpResponse<String> first = post("none/generate", "{\"text_input\":\"t\"}");
        HttpResponse<String> second = post("none/generate", "{\"text_input\":\"t\"}");
        assertThat(List.of(first.statusCode(), second.statusCode())).containsExactly(200, 429);
        assertThat(second.headers().firstValue("retry-after")).isPresent();
    }

    @Test
    void stream_keepsItsOrder_andGoesOnAfterARefusal() throws Exception {
        BlockingQueue<ModelStreamInferResponse> responses = new LinkedBlockingQueue<>();
        BlockingQueue<String> ended = new LinkedBlockingQueue<>();
        StreamObserver<ModelInferRequest> requests = ClientCalls.asyncBidiStreamingCall(
                channel.newCall(STREAM, CallOptions.DEFAULT), new StreamObserver<>() {
                    @Override
                    public void onNext(ModelStreamInferResponse response) {
                        responses.add(response);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        ended.add(failure.toString());
                    }

                    @Override
                    public void onCompleted() {
                        ended.add("completed");
                    }
                });
        for (int i = 0; i < 20; i++) {
            requests.onNext(request("grpc", "" + i, 10));
        }
        // The bucket holds one of these, not two.
        requests.onNext(request("few", "admitted", 150));
        requests.onNext(request("few", "refused", 150));
        requests.onNext(request("grpc", "last", 10));
        requests.onCompleted();
        assertThat(ended.poll(60, TimeUnit.SECONDS)).isEqualTo("completed");
        assertThat(responses)
                .extracting(response -> response.getInferResponse().getId())
                .filteredOn(id -> id.matches("[0-9]+|last"))
                .containsExactlyElementsOf(IntStream.rangeClosed(0, 20)
                        .mapToObj(i -> i == 20 ? "last" : "" + i)
                        .toList());
        assertThat(responses)
                .filteredOn(response -> !response.getErrorMessage().isEmpty())
                .singleElement()
                .satisfies(response -> assertThat(response.getErrorMessage())
                        .contains("rate limit of model 'few' reached (1 bytes per second)"));
    }
}
