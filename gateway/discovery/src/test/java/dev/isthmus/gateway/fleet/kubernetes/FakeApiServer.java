package dev.isthmus.gateway.fleet.kubernetes;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * An API server that gives one scripted response to each request, in order; a request beyond the script waits. Where
 * several watches begin at once, a script in order has no meaning: {@link #slices} is a list for each Service.
 */
final class FakeApiServer implements AutoCloseable {
    private final Path folder;
    private final BlockingQueue<Scripted> script = new LinkedBlockingQueue<>();
    private final Map<String, String> slices = new ConcurrentHashMap<>();
    private final ExecutorService workers = Executors.newCachedThreadPool();
    private final HttpsServer server;
    private final TestAuthority authority;

    /** The requests: "TOKEN QUERY". */
    final List<String> requests = new CopyOnWriteArrayList<>();

    private record Scripted(int status, String body, boolean open) {}

    FakeApiServer(Path folder) throws Exception {
        this.folder = folder;
        authority = new TestAuthority(folder, "cluster");
        server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(
                new HttpsConfigurator(authority.issue("apiserver", "127.0.0.1").server()));
        server.createContext("/apis/discovery.k8s.io/v1/namespaces/ml/endpointslices", this::respond);
        server.createContext("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", this::respond);
        server.setExecutor(workers);
        server.start();
        token("first");
    }

    KubernetesConfig access() {
        return new KubernetesConfig(
                "https://127.0.0.1:" + server.getAddress().getPort(), folder.resolve("token"), authority.ca(), null);
    }

    void token(String token) throws IOException {
        Files.writeString(folder.resolve("token"), token + "\n");
    }

    /** The next response, which ends. */
    void next(int status, String body) {
        script.add(new Scripted(status, body, false));
    }

    /** The next response, which does not end before this is closed. */
    void nextOpen(String body) {
        script.add(new Scripted(200, body, true));
    }

    /** Every list of this Service is this one, and nothing ever changes. */
    void slices(String service, String list) {
        slices.put(service, list);
    }

    private Scripted response(String query) throws InterruptedException {
        for (Map.Entry<String, String> each : slices.entrySet()) {
            if (query.contains("service-name%3D" + each.getKey())) {
                boolean watch = query.contains("watch=true");
                return new Scripted(200, watch ? "" : each.getValue(), watch);
            }
        }
        return script.take();
    }

    private void respond(HttpExchange exchange) throws IOException {
        requests.add(exchange.getRequestHeaders().getFirst("authorization") + " "
                + exchange.getRequestURI().getRawQuery());
        try (OutputStream body = exchange.getResponseBody()) {
            Scripted scripted = response(exchange.getRequestURI().getRawQuery());
            exchange.sendResponseHeaders(scripted.status(), 0);
            body.write(scripted.body().getBytes(StandardCharsets.UTF_8));
            body.flush();
            if (scripted.open()) {
                Thread.sleep(Long.MAX_VALUE);
            }
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
    }

    static String list(int version, String... slices) {
        return "{\"kind\":\"EndpointSliceList\",\"metadata\":{\"resourceVersion\":\"" + version + "\"},\"items\":["
                + String.join(",", slices) + "]}";
    }

    static String slice(int version, String name, String... addresses) {
        StringBuilder endpoints = new StringBuilder();
        for (String address : addresses) {
            endpoints.append(endpoints.isEmpty() ? "" : ",").append("{\"addresses\":[\"" + address + "\"]}");
        }
        return "{\"metadata\":{\"name\":\"" + name + "\",\"resourceVersion\":\"" + version
                + "\"},\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"grpc\",\"port\":8001}],\"endpoints\":["
                + endpoints + "]}";
    }

    static String event(String type, String object) {
        return "{\"type\":\"" + type + "\",\"object\":" + object + "}\n";
    }

    @Override
    public void close() {
        workers.shutdownNow();
        server.stop(0);
    }
}
