package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.RawMethods;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Valid calls, some of them cancelled or with a short deadline by their clients; counted by outcome. */
final class ValidLoad implements AutoCloseable {
    private static final int PERIOD_MILLIS = 10;
    private static final MethodDescriptor<byte[], byte[]> STREAM = RawMethods.of("ModelStreamInfer").toBuilder()
            .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
            .build();

    private final String rest;
    private final SeededChoices choices;
    private final ManagedChannel channel;
    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10))
            .build();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("soak-load").factory());
    private final Map<String, Integer> ends = new TreeMap<>();

    /** Starts a load of 100 calls per second. */
    ValidLoad(int port, long seed) {
        rest = "http://127.0.0.1:" + port;
        choices = new SeededChoices(seed);
        channel = NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .usePlaintext()
                .disableRetry()
                .build();
        clock.scheduleAtFixedRate(this::call, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    private synchronized void ended(String how) {
        ends.merge(how, 1, Integer::sum);
    }

    /** The number of calls by outcome. */
    synchronized Map<String, Integer> ends() {
        return Map.copyOf(ends);
    }

    private void call() {
        switch (choices.below(4)) {
            case 0 ->
                ask(
                        "GET",
                        choices.pick("/v2", "/v2/health/ready", "/v2/models/echo-rest", "/v2/models/simple/ready"),
                        "");
            case 1 -> ask("POST", "/v2/models/" + choices.pick("echo", "echo-rest") + "/infer", json());
            case 2 -> grpc(RawMethods.of("ModelInfer"), 1);
            default -> grpc(STREAM, choices.between(1, 5));
        }
    }

    private String json() {
        int elements = choices.size(20_000);
        return "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT32\",\"shape\":[" + (elements + 1) + "],\"data\":["
                + "7,".repeat(elements) + "7]}]}";
    }

    private void ask(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(rest + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .timeout(Duration.ofSeconds(10))
                .build();
        CompletableFuture<HttpResponse<byte[]>> answer =
                http.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray());
        if (choices.chance(0.1)) {
            clock.schedule(() -> answer.cancel(true), choices.below(10), TimeUnit.MILLISECONDS);
        }
        CompletableFuture<Void> counted = answer.handle((response, problem) -> {
            ended("REST "
                    + (problem != null ? problem.getClass().getSimpleName() : Integer.toString(response.statusCode())));
            return null;
        });
        counted.orTimeout(1, TimeUnit.MINUTES);
    }

    private void grpc(MethodDescriptor<byte[], byte[]> method, int messages) {
        CallOptions options = choices.chance(0.1)
                ? CallOptions.DEFAULT.withDeadlineAfter(choices.between(1, 10), TimeUnit.MILLISECONDS)
                : CallOptions.DEFAULT.withDeadlineAfter(10, TimeUnit.SECONDS);
        ClientCall<byte[], byte[]> call = channel.newCall(method, options);
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(byte[] message) {
                        call.request(1);
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        ended("gRPC " + status.getCode());
                    }
                },
                new Metadata());
        call.request(2);
        int bytes = choices.size(choices.chance(0.1) ? 400_000 : 4_000);
        byte[] message =
                RawMethods.request(choices.pick("echo", "echo-rest"), "", "UINT8", new byte[bytes], (long) bytes);
        for (int i = 0; i < messages; i++) {
            call.sendMessage(message);
        }
        if (choices.chance(0.9)) {
            call.halfClose();
        } else {
            clock.schedule(() -> call.cancel("by the client", null), choices.below(20), TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void close() {
        clock.shutdownNow();
        channel.shutdownNow();
        http.shutdownNow();
        http.close();
    }
}
