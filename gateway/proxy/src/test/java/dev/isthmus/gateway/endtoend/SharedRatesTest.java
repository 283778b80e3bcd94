package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gateways that share rate limits in a real Redis. */
class SharedRatesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;
    private static HttpClient client;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.start(folder);
        client = HttpClient.newHttpClient();
    }

    @AfterAll
    static void stop() {
        client.close();
        redis.close();
    }

    /** A gateway whose model 'limited' has a rate; 'free' has none. */
    private static ProxyServer gateway(String prefix, String failureMode, String rate) throws Exception {
        return ProxyServer.start(
                """
                listeners: [{port: 0}]
                local: {embedded_models: true}
                shared: {url: "redis://127.0.0.1:%d/1", on_failure: %s, prefix: "%s:", timeout: %s, recovery: 1s}
                models:
                  free: {upstream: local, model: digits}
                  limited: {upstream: local, model: digits, rates: [{%s}]}
                """.formatted(redis.port(), failureMode, prefix, prefix.equals("stopped") ? "200ms" : "10s", rate));
    }

    private static CompletableFuture<HttpResponse<String>> ask(ProxyServer gateway, String model, String... headers)
            throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://" + gateway.address() + "/v2/models/" + model + "/infer"))
                .POST(BodyPublishers.ofByteArray(Files.readAllBytes(SAMPLE)));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.sendAsync(request.build(), BodyHandlers.ofString());
    }

    private static int status(ProxyServer gateway, String model) throws Exception {
        return ask(gateway, model).get().statusCode();
    }

    private static boolean responds(ProxyServer gateway) {
        return gateway.meters().get("isthmus.shared.up").gauge().value() == 1;
    }

    /** The number of calls that were admitted, of a number to each gateway, a few at a time. */
    private static int admitted(List<ProxyServer> gateways, int each) throws Exception {
        int admitted = 0;
        for (int sent = 0; sent < each; sent += 10) {
            List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                for (ProxyServer gateway : gateways) {
                    responses.add(ask(gateway, "limited"));
                }
            }
            for (CompletableFuture<HttpResponse<String>> response : responses) {
                int status = response.get().statusCode();
                assertThat(status).isIn(200, 429);
                admitted += status == 200 ? 1 : 0;
            }
        }
        return admitted;
    }

    @Test
    void threeGateways_keepOneLimit() throws Exception {
        String rate = "requests_per_second: 1, burst: 1000s";
        try (ProxyServer first = gateway("three", "local", rate);
                ProxyServer second = gateway("three", "local", rate);
                ProxyServer third = gateway("three", "local", rate)) {
            long start = System.nanoTime();
            int admitted = admitted(List.of(first, second, third), 1000);
            int refilled = (int) TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) + 1;
            System.out.println("three gateways: " + admitted + " of 3000 in " + refilled + " s");
            assertThat(admitted).isBetween(980, 1020 + refilled);
        }
    }

    @Test
    void lowLimit_isExact() throws Exception {
        // Five bodies; a further one is admitted minutes later.
        long size = Files.size(SAMPLE);
        String rate = "bytes_per_second: 1, burst: " + (5 * size + size / 2) + "s, header: x-user";
        try (ProxyServer first = gateway("low", "closed", rate);
                ProxyServer second = gateway("low", "closed", rate);
                ProxyServer third = gateway("low", "closed", rate)) {
            List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                for (ProxyServer gateway : List.of(first, second, third)) {
                    responses.add(ask(gateway, "limited", "x-user", "a"));
                }
            }
            List<HttpResponse<String>> refused = new ArrayList<>();
            for (CompletableFuture<HttpResponse<String>> response : responses) {
                if (response.get().statusCode() != 200) {
                    refused.add(response.get());
                }
            }
            assertThat(refused).hasSize(13).allMatch(each -> each.statusCode() == 429);
            assertThat(refused.getFirst().body()).contains("1 bytes per second for each value of header 'x-user'");
            assertThat(ask(second, "limited", "x-user", "b").get().statusCode()).isEqualTo(200);
        }
    }

    @Test
    void redisGone_local_eachCountsAlone_andTogetherAgainLater() throws Exception {
        String rate = "requests_per_second: 1, burst: 1h";
        try (ProxyServer first = gateway("gone", "local", rate);
                ProxyServer closed = gateway("gone", "closed", rate);
                ProxyServer open = gateway("gone", "open", "requests_per_second: 1")) {
            await().atMost(PATIENCE).until(() -> responds(first) && responds(closed) && responds(open));
            redis.kill();
            await().atMost(PATIENCE).until(() -> !responds(first) && !responds(closed) && !responds(open));
            assertThat(status(first, "limited")).isEqualTo(200);
            assertThat(admitted(List.of(open), 30)).isEqualTo(30);
            HttpResponse<String> refused = ask(closed, "limited").get();
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(refused.body()).contains("the rate limit of model 'limited' cannot be read");
            redis.restart();
            await().atMost(PATIENCE).until(() -> responds(first) && responds(closed) && responds(open));
            assertThat(status(closed, "limited")).isEqualTo(200);
            assertThat(admitted(List.of(open), 30)).isLessThan(30);
        }
    }

    @Test
    void redisStopped_blocksNothing() throws Exception {
        try (ProxyServer gateway = gateway("stopped", "local", "requests_per_second: 1, burst: 1h")) {
            await().atMost(PATIENCE).until(() -> responds(gateway));
            redis.pause();
            try {
                // More connections than event loops: each loop has calls that wait for Redis, and others.
                List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
                for (int i = 0; i < 50; i++) {
                    all.add(ask(gateway, "limited"));
                    all.add(ask(gateway, "free"));
                }
                for (CompletableFuture<HttpResponse<String>> each : all) {
                    assertThat(each.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
                }
                await().atMost(PATIENCE).until(() -> !responds(gateway));
            } finally {
                redis.resume();
            }
            await().atMost(PATIENCE).until(() -> responds(gateway));
            assertThat(status(gateway, "limited")).isEqualTo(200);
        }
    }

    @Test
    void redisAnswersAgain_isNotUsedBeforeItHasAnsweredForAWhile() throws Exception {
        try (SharedGateway gateway = SharedGateway.start("""
                shared: {url: "redis://127.0.0.1:%d/1", on_failure: closed, timeout: 200ms, recovery: 1m}
                """.formatted(redis.port()))) {
            await().atMost(PATIENCE).until(gateway::up);
            redis.pause();
            try {
                await().atMost(PATIENCE).until(() -> !gateway.up());
                assertThat(gateway.recovering()).isFalse();
            } finally {
                redis.resume();
            }
            await().atMost(PATIENCE).until(gateway::recovering);
            assertThat(gateway.up()).isFalse();
            assertThat(gateway.status("a")).isEqualTo(503);
            assertThat(gateway.lost()).isEqualTo(1);
        }
    }
}
