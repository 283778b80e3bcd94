package dev.isthmus.gateway.flow;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.warm.WarmUp;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A gateway with everything that has metrics: servers of all kinds, one that fails, a ramp, shadows, callers. */
public final class MonitoredGateway implements AutoCloseable {
    private static final Path ROOT = Path.of(System.getProperty("isthmus.root", ".."));
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String KEY = "a-key-of-the-tests";
    private static final String FAILURE = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    /** Its output is none of the local models'. */
    private static final String RESPONSE =
            FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[{\"name\":\"odd\",\"datatype\":\"BYTES\","
                    + "\"shape\":[1],\"data\":[\"x\"]}]}");

    private static final String BACKEND = """
            listeners: [{port: 0}]
            local: {embedded_models: true}
            default_upstream: local
            """;

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            listeners:
              - {name: plain, port: 0, cors: {origins: ["*"]}}
              - name: tls
                port: 0
                tls: {certificates: [{certificate: "%2$s", key: "%3$s"}]}
            admin: {port: 0}
            authentication: {api_keys: {file: keys}}
            external_authorization: {endpoints: ["127.0.0.1:1"], on_failure: allow}
            access_log: {file: access.log}
            payload_log: {file: payloads.jsonl}
            shared: redis://127.0.0.1:1
            metrics: {otlp: {endpoint: "http://127.0.0.1:%5$d/v1/metrics", interval: 1s}}
            tracing: {endpoint: "http://127.0.0.1:%5$d/v1/traces", sample: 100%%}
            upstreams:
              grpc: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"], balance: {policy: queue_aware}}
              rest: {protocol: rest, endpoints: ["127.0.0.1:%1$d"], adaptive_concurrency: {}, hedging: {}, queue: {}}
              named: {protocol: grpc, endpoints: ["localhost:%1$d"]}
              partly: {protocol: rest, endpoints: ["127.0.0.1:%4$d", "127.0.0.1:1"]}
              odd: {protocol: rest, endpoints: ["127.0.0.1:%5$d"]}
              gone: {protocol: grpc, endpoints: ["127.0.0.1:1"]}
            local: {embedded_models: true}
            models:
              digits:
                targets:
                  - {name: old, upstream: local, weight: 50}
                  - {name: new, upstream: grpc, weight: 50}
                shadow:
                  - {name: next, upstream: rest, sample: 100%%, compare: true}
                  - {name: odd, upstream: odd, sample: 100%%, compare: true}
                ramp: {target: new, steps: [40%%, 50%%]}
                rates:
                  - {requests_per_second: 1000, bytes_per_second: 1GiB}
              named: {upstream: named, model: digits}
              overgrpc: {upstream: grpc, model: digits, batching: {}}
              overrest:
                upstream: rest
                model: digits
                objectives: {availability: 99%%, latency: 95%%, latency_within: 1s}
              flaky: {upstream: partly}
              texts:
                upstream: odd
                shadow: [{name: twin, upstream: odd, model: twin, sample: 100%%, compare: true}]
              mismatched: {upstream: local, model: simple}
              gone: {upstream: gone}
              kept: {upstream: local, model: digits, cache: {}}
              limited:
                upstream: local
                model: digits
                rates: [{requests_per_second: 1}]
            """;

    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpClient.Builder trusting;
    private final AtomicInteger requests = new AtomicInteger();
    private final byte[] sample;
    private final Gateway backend;
    private final FakeRestServer odd;
    private final FakeRestServer flaky;
    private final Gateway gateway;

    private MonitoredGateway(Path folder) throws Exception {
        sample = Files.readAllBytes(ROOT.resolve("local-backend/src/main/resources/models/digits/sample.json"));
        backend = Gateway.start(ConfigLoader.parse("backend.yaml", BACKEND, folder));
        odd = FakeRestServer.sending(RESPONSE);
        flaky = FakeRestServer.that((request, out) -> respond(request.head(), out));
        TestAuthority authority = new TestAuthority(folder, "ca");
        TestAuthority.Issued own = authority.issue("own", "localhost");
        trusting = HttpClient.newBuilder().sslContext(TlsFiles.trusting(authority.ca()));
        Path keys = folder.resolve("keys");
        Files.writeString(keys, "caller " + sha256(KEY) + "\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-------"));
        String config = CONFIG.formatted(
                backend.addresses().getFirst().getPort(),
                own.certificate(),
                own.key(),
                flaky.endpoint().port(),
                odd.endpoint().port());
        gateway = Gateway.start(ConfigLoader.parse("isthmus.yaml", config, folder));
        new WarmUp().show(gateway.meters());
    }

    /** Starts it. */
    public static MonitoredGateway start(Path folder) throws Exception {
        return new MonitoredGateway(folder);
    }

    private static String sha256(String text) throws Exception {
        return HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.US_ASCII)));
    }

    /** Every third inference fails. */
    private boolean respond(String head, OutputStream out) throws IOException {
        boolean fails = head.startsWith("POST") && requests.incrementAndGet() % 3 == 0;
        FakeRestServer.write(out, fails ? FAILURE : RESPONSE);
        return true;
    }

    /** Host and port of the admin listener. */
    public String admin() {
        return "127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort();
    }

    private String address(int listener) {
        return "127.0.0.1:" + gateway.addresses().get(listener).getPort();
    }

    /** Makes some calls of each kind, and waits until the copies are compared. */
    public void load(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            for (String model : new String[] {
                "digits", "named", "overgrpc", "overrest", "flaky", "texts", "gone", "limited", "unknown"
            }) {
                infer(model, KEY);
            }
            infer("digits", "wrong");
            connectOverTls();
        }
        await().alias("a request that does not match").atMost(PATIENCE).until(() -> {
            infer("mismatched", KEY);
            return scrape().contains("isthmus_requests_invalid_total{");
        });
        for (String late : List.of(
                "isthmus_shadow_mismatch_total{",
                "isthmus_shadow_cosine_count{",
                "isthmus_shadow_equal_share_count{",
                "isthmus_requests_unvalidated_total{",
                "isthmus_catalogue_failures_total{")) {
            await().alias(late).atMost(PATIENCE).until(() -> scrape().contains(late));
        }
    }

    /** A connection that speaks TLS, and one that does not. */
    private void connectOverTls() throws Exception {
        int port = gateway.addresses().get(1).getPort();
        try (HttpClient fresh = trusting.build()) {
            URI live = URI.create("https://localhost:" + port + "/v2/health/live");
            fresh.send(HttpRequest.newBuilder(live).build(), BodyHandlers.discarding());
        }
        try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), port)) {
            plain.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            plain.getInputStream().readAllBytes();
        }
    }

    private void infer(String model, String key) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create("http://" + address(0) + "/v2/models/" + model + "/infer"))
                .header("x-api-key", key)
                .POST(HttpRequest.BodyPublishers.ofByteArray(sample))
                .build();
        client.send(request, BodyHandlers.ofByteArray());
    }

    /** All metrics in Prometheus' text format. */
    public String scrape() throws Exception {
        URI metrics = URI.create("http://" + admin() + "/metrics");
        return client.send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
                .body();
    }

    @Override
    public void close() throws IOException {
        client.close();
        gateway.close();
        flaky.close();
        odd.close();
        backend.close();
    }
}
