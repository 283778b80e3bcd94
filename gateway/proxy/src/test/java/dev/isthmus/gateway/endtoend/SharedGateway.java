package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** A gateway whose model 'limited' admits five calls of each user, and a further one minutes later. */
final class SharedGateway implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");

    private final ProxyServer gateway;
    private final HttpClient client = HttpClient.newHttpClient();

    private SharedGateway(ProxyServer gateway) {
        this.gateway = gateway;
    }

    /** @param shared the section 'shared' */
    static SharedGateway start(String shared) throws Exception {
        long size = Files.size(SAMPLE);
        return new SharedGateway(ProxyServer.start("""
                listeners: [{port: 0}]
                local: {embedded_models: true}
                models:
                  limited:
                    upstream: local
                    model: digits
                    rates: [{bytes_per_second: 1, burst: %ds, header: x-user}]
                """.formatted(5 * size + size / 2) + shared));
    }

    int status(String user) throws Exception {
        URI uri = URI.create("http://" + gateway.address() + "/v2/models/limited/infer");
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("x-user", user)
                .POST(BodyPublishers.ofFile(SAMPLE))
                .build();
        return client.send(request, BodyHandlers.discarding()).statusCode();
    }

    /** How many of a number of calls are admitted; each is repeated while the servers are not used. */
    int admitted(String user, int calls) throws Exception {
        int admitted = 0;
        for (int i = 0; i < calls; i++) {
            int status = 503;
            while (status == 503) {
                await().atMost(PATIENCE).until(this::up);
                status = status(user);
            }
            assertThat(status).isIn(200, 429);
            admitted += status == 200 ? 1 : 0;
        }
        return admitted;
    }

    boolean up() {
        return gauge("isthmus.shared.up");
    }

    boolean recovering() {
        return gauge("isthmus.shared.recovering");
    }

    private boolean gauge(String name) {
        return gateway.meters().get(name).gauge().value() == 1;
    }

    /** How often the servers were left. */
    double lost() {
        return gateway.meters().get("isthmus.shared.lost").counter().count();
    }

    @Override
    public void close() {
        client.close();
        gateway.close();
    }
}
