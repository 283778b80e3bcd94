package dev.isthmus.gateway.fleet.kubernetes;

import static dev.isthmus.gateway.fleet.kubernetes.FakeApiServer.event;
import static dev.isthmus.gateway.fleet.kubernetes.FakeApiServer.list;
import static dev.isthmus.gateway.fleet.kubernetes.FakeApiServer.slice;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer.AccessReview;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer.ObjectStream;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against an API server that misbehaves on request. */
class KubernetesDiscoveryTest {
    private static final KubernetesService TRITON = new KubernetesService("ml", "triton", "grpc");
    private static final ServerAddress NAME = new ServerAddress.SrvAddress("_grpc._tcp.triton");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path folder = Path.of(".");

    private final ExecutorService loop = Executors.newSingleThreadExecutor();
    private final KubernetesDiscovery discovery = new KubernetesDiscovery(loop, Map.of(), new Random(1));
    private final List<List<String>> found = new CopyOnWriteArrayList<>();
    private final List<Registration> open = new ArrayList<>();
    private FakeApiServer server;

    @BeforeEach
    void start() throws Exception {
        server = new FakeApiServer(folder);
    }

    @AfterEach
    void stop() {
        open.forEach(Registration::close);
        server.close();
        loop.shutdownNow();
    }

    /** Closed after the test, at the latest. */
    private Registration watch() {
        Registration watch = discovery.watch(server.access(), List.of(TRITON), this::found);
        open.add(watch);
        return watch;
    }

    private void found(List<DiscoveredServer> servers) {
        found.add(servers.stream().map(each -> each.address().host()).toList());
    }

    private void awaitFound(String... addresses) {
        await().atMost(PATIENCE).until(() -> !found.isEmpty() && found.getLast().equals(List.of(addresses)));
    }

    private void awaitRequests(int count) {
        await().atMost(PATIENCE).until(() -> server.requests.size() >= count);
    }

    @Test
    void listAndEvents_changeTheServers() {
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.nextOpen(event("ADDED", slice(6, "t", "10.0.0.2"))
                + event("MODIFIED", slice(7, "s", "10.0.0.1", "10.0.0.3"))
                + event("DELETED", slice(8, "t", "10.0.0.2")));
        try (Registration watch = watch()) {
            awaitFound("10.0.0.1", "10.0.0.3");
            assertThat(watch.first()).isCompleted();
            assertThat(found.getFirst()).containsExactly("10.0.0.1");
            assertThat(server.requests.getFirst())
                    .isEqualTo("Bearer first labelSelector=kubernetes.io%2Fservice-name%3Dtriton");
            assertThat(server.requests.get(1))
                    .contains("&watch=true&allowWatchBookmarks=true&timeoutSeconds=")
                    .endsWith("&resourceVersion=5");
        }
    }

    @Test
    void watchThatEnds_continuesAfterTheLastEvent() {
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.next(200, event("MODIFIED", slice(6, "s", "10.0.0.2")));
        server.next(200, event("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"90\"}}"));
        server.nextOpen("");
        watch();
        awaitRequests(4);
        assertThat(server.requests.get(2)).endsWith("&resourceVersion=6");
        assertThat(server.requests.get(3)).endsWith("&resourceVersion=90");
        assertThat(found).containsExactly(List.of("10.0.0.1"), List.of("10.0.0.2"));
    }

    @Test
    void floodOfEvents_isReportedTogether() {
        StringBuilder flood = new StringBuilder();
        for (int i = 6; i < 5006; i++) {
            flood.append(event("MODIFIED", slice(i, "s", "10.0." + i / 256 + "." + i % 256)));
        }
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.nextOpen(flood.toString());
        watch();
        awaitFound("10.0." + 5005 / 256 + "." + 5005 % 256);
        assertThat(found).hasSizeLessThan(1000);
    }

    @Test
    void objectWithoutEnd_isRefused_andListedAgain() {
        server.next(200, list(5, slice(3, "s".repeat(ObjectStream.MAX_OBJECT + 100_000), "10.0.0.1")));
        server.next(200, list(5, slice(3, "s", "10.0.0.2")));
        server.next(200, event("MODIFIED", slice(6, "s".repeat(ObjectStream.MAX_OBJECT + 100_000), "10.0.0.3")));
        server.nextOpen(event("MODIFIED", slice(7, "s", "10.0.0.4")));
        watch();
        awaitFound("10.0.0.4");
        assertThat(found).containsExactly(List.of("10.0.0.2"), List.of("10.0.0.4"));
    }

    @Test
    void silence_endsARequest() throws Exception {
        server.next(200, "");
        server.nextOpen("");
        ApiServer silent = new ApiServer(server.access(), Map.of());
        String path = "/apis/discovery.k8s.io/v1/namespaces/ml/endpointslices?labelSelector=a";
        // The first handshake of a JVM may take as long as a connection.
        try (ObjectStream body = silent.get(path, PATIENCE)) {
            assertThat(body.readAllBytes()).isEmpty();
        }
        CompletableFuture<Void> ended = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try (ObjectStream body = silent.get(path, Duration.ofMillis(500))) {
                body.readAllBytes();
                ended.complete(null);
            } catch (IOException e) {
                ended.completeExceptionally(e);
            }
        });
        // By its own limit, not by the one for the connection.
        await().atMost(ApiServer.TIMEOUT.dividedBy(2)).until(ended::isDone);
        assertThat(ended).isCompletedExceptionally();
        assertThat(ended.exceptionNow()).isInstanceOf(SocketTimeoutException.class);
    }

    @Test
    void tooManyResources_areRefused() {
        String[] slices = IntStream.rangeClosed(0, 20_000)
                .mapToObj(i -> slice(3, "s" + i, "10.0.0.1"))
                .toArray(String[]::new);
        server.next(200, list(5, slices));
        server.next(200, list(5, slice(3, "s", "10.0.0.2")));
        server.nextOpen("");
        watch();
        awaitFound("10.0.0.2");
        assertThat(found).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void goneVersion_isListedAgain(boolean asEvent) {
        String gone = "{\"kind\":\"Status\",\"code\":410,\"message\":\"too old resource version\"}";
        server.next(200, list(5, slice(3, "s", "10.0.0.1"), slice(4, "old", "10.0.0.9")));
        server.next(asEvent ? 200 : 410, asEvent ? event("ERROR", gone) : gone);
        server.next(200, list(95, slice(93, "s", "10.0.0.2")));
        server.nextOpen("");
        watch();
        awaitRequests(4);
        assertThat(server.requests.get(2)).doesNotContain("resourceVersion");
        assertThat(server.requests.get(3)).endsWith("&resourceVersion=95");
        awaitFound("10.0.0.2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"{\"type\":\"MODIFIED\",\"object\":{\"meta", "<html>", "{\"type\":\"MODIFIED\",\"object\":{}}"})
    void brokenWatch_keepsTheServers(String body) {
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.next(200, body);
        server.nextOpen("");
        watch();
        awaitRequests(3);
        assertThat(found.getLast()).containsExactly("10.0.0.1");
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 404, 429, 500, 503})
    void refusals_areTriedAgain_withTheTokenOfThatMoment(int status) throws Exception {
        server.next(status, "{\"message\":\"no\"}");
        try (Registration watch = watch()) {
            assertThat(watch.first()).succeedsWithin(PATIENCE);
            assertThat(found).isEmpty();
            server.token("renewed");
            server.next(status, "not JSON");
            server.next(200, list(5, slice(3, "s", "10.0.0.1")));
            server.nextOpen("");
            awaitFound("10.0.0.1");
            assertThat(server.requests.get(2)).startsWith("Bearer renewed ");
        }
    }

    @Test
    void severalRegistrations_shareOneWatch() {
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.nextOpen("");
        List<DiscoveredServer> others = new CopyOnWriteArrayList<>();
        Registration first = watch();
        awaitFound("10.0.0.1");
        try (Registration second = discovery.watch(server.access(), List.of(TRITON), others::addAll)) {
            assertThat(second.first()).succeedsWithin(PATIENCE);
            assertThat(others).hasSize(1);
            first.close();
            awaitRequests(2);
            assertThat(server.requests).hasSize(2);
        }
        // All are closed: the next one starts again.
        server.next(200, list(6, slice(6, "s", "10.0.0.2")));
        server.nextOpen("");
        watch();
        awaitFound("10.0.0.2");
    }

    @Test
    void listenerThatThrows_keepsNoOtherFromHearing_andHearsWithTheNextChange() {
        AtomicInteger faults = new AtomicInteger();
        List<DiscoveredServer> heard = new CopyOnWriteArrayList<>();
        open.add(discovery.watch(server.access(), List.of(TRITON), servers -> {
            if (faults.getAndIncrement() == 0) {
                throw new IllegalStateException("a fault of the listener");
            }
            heard.addAll(servers);
        }));
        watch();
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        awaitFound("10.0.0.1");
        assertThat(faults).hasValue(1);
        // It changes nothing of the servers.
        server.nextOpen(event("MODIFIED", slice(6, "s", "10.0.0.1")));
        await().atMost(PATIENCE).until(() -> heard.size() == 1);
        assertThat(found).hasSize(1);
    }

    @Test
    void severalServices_areOneSet() {
        KubernetesService other = new KubernetesService("ml", "spot", "grpc");
        server.slices("triton", list(5, slice(3, "s", "10.0.0.1")));
        server.slices("spot", list(7, slice(6, "t", "10.0.0.2")));
        try (Registration watch = discovery.watch(server.access(), List.of(TRITON, other), this::found)) {
            assertThat(watch.first()).succeedsWithin(PATIENCE);
            awaitFound("10.0.0.1", "10.0.0.2");
        }
    }

    @Test
    void namesAndServices_areOneSet() {
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        server.nextOpen(event("ADDED", slice(6, "t", "10.0.0.2")));
        CompletableFuture<Void> resolved = new CompletableFuture<>();
        Discovery names = (addresses, refresh, listener) -> {
            assertThat(addresses).containsExactly(NAME);
            loop.execute(() -> listener.accept(List.of(new DiscoveredServer(new Endpoint("10.0.0.9", 1), "a:1"))));
            return new Registration() {
                @Override
                public CompletableFuture<Void> first() {
                    return resolved;
                }

                @Override
                public void close() {
                    resolved.completeExceptionally(new IllegalStateException("closed"));
                }
            };
        };
        Registration watch = discovery
                .with(names, server.access())
                .watch(List.of(TRITON, NAME), Duration.ofSeconds(30), this::found);
        awaitFound("10.0.0.9", "10.0.0.1", "10.0.0.2");
        assertThat(watch.first()).isNotDone();
        watch.close();
        assertThat(resolved).isCompletedExceptionally();
    }

    @Test
    void closedRegistration_hearsNothing() throws Exception {
        Registration watch = watch();
        watch.close();
        server.next(200, list(5, slice(3, "s", "10.0.0.1")));
        loop.shutdown();
        assertThat(loop.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
        assertThat(found).isEmpty();
    }

    @Test
    void withoutCluster_nothingIsFound_andNothingThrown() {
        KubernetesConfig pod = new KubernetesConfig(
                null, folder.resolve("token"), server.access().caFile(), null);
        try (Registration watch = discovery.watch(pod, List.of(TRITON), this::found)) {
            assertThat(watch.first()).succeedsWithin(PATIENCE);
            assertThat(found).isEmpty();
        }
    }

    @Test
    void environmentOfAPod_namesTheServer_andTheZone() {
        KubernetesConfig access = server.access();
        String url = requireNonNull(access.apiServer());
        String port = url.substring(url.lastIndexOf(':') + 1);
        String hinted = slice(3, "s", "10.0.0.1", "10.0.0.2")
                .replace("\"10.0.0.1\"]", "\"10.0.0.1\"],\"hints\":{\"forZones\":[{\"name\":\"a\"}]}")
                .replace("\"10.0.0.2\"]", "\"10.0.0.2\"],\"hints\":{\"forZones\":[{\"name\":\"b\"}]}");
        server.next(200, list(5, hinted));
        server.nextOpen("");
        KubernetesDiscovery inPod = new KubernetesDiscovery(
                loop,
                Map.of("KUBERNETES_SERVICE_HOST", "127.0.0.1", "KUBERNETES_SERVICE_PORT", port, "ISTHMUS_ZONE", "b"),
                new Random(1));
        open.add(inPod.watch(
                new KubernetesConfig(null, access.tokenFile(), access.caFile(), null), List.of(TRITON), this::found));
        awaitFound("10.0.0.2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"token", "cluster-ca.pem"})
    void filesThatAppearLater_areUsed(String name) throws Exception {
        byte[] content = Files.readAllBytes(folder.resolve(name));
        Files.writeString(folder.resolve(name), "");
        try (Registration watch = watch()) {
            assertThat(watch.first()).succeedsWithin(PATIENCE);
            server.next(200, list(5, slice(3, "s", "10.0.0.1")));
            server.nextOpen("");
            Files.write(folder.resolve(name), content);
            awaitFound("10.0.0.1");
        }
    }

    private static AccessReview review(ApiServer to, Duration limit) throws Exception {
        return to.review("ml", "discovery.k8s.io", "endpointslices", "watch", limit);
    }

    @Test
    void rights_areAskedFor() throws Exception {
        ApiServer api = new ApiServer(server.access(), Map.of());
        server.next(201, "{\"status\":{\"allowed\":true,\"reason\":\"RBAC\"}}");
        AccessReview allowed = review(api, PATIENCE);
        assertThat(allowed.allowed()).isTrue();
        assertThat(allowed.reason()).isEqualTo("RBAC");
        assertThat(allowed.date()).endsWith("GMT");
        server.next(201, "{}");
        assertThat(review(api, PATIENCE).allowed()).isFalse();
        server.next(403, "{\"message\":\"no\"}");
        assertThatThrownBy(() -> review(api, PATIENCE)).hasMessage("the API server responds with 403: no");
        server.next(201, "<html>");
        assertThatThrownBy(() -> review(api, PATIENCE)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> review(api, Duration.ofMillis(200))).isInstanceOf(SocketTimeoutException.class);
    }
}
