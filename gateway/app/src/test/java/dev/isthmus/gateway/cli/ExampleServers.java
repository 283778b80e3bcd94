package dev.isthmus.gateway.cli;

import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/**
 * The servers of the guides. A Triton on 127.0.0.1:8001 and 8011, and ModelMesh on 8033 (gRPC), are a gateway with the
 * embedded models, an MLServer on 127.0.0.1:8090 (REST) replays recorded responses of its iris model.
 */
final class ExampleServers implements AutoCloseable {
    private static final Map<String, String> MLSERVER = Map.of(
            "/v2",
            "{\"name\":\"mlserver\",\"version\":\"1.7.1\",\"extensions\":[]}",
            "/v2/health/ready",
            "",
            "/v2/models/iris/ready",
            "",
            "/v2/models/iris",
            "{\"name\":\"iris\",\"versions\":[\"v1\"],\"platform\":\"sklearn\","
                    + "\"inputs\":[{\"name\":\"predict\",\"datatype\":\"FP32\",\"shape\":[-1,4]}],"
                    + "\"outputs\":[{\"name\":\"predict\",\"datatype\":\"INT64\",\"shape\":[-1,1]}],\"parameters\":{}}",
            "/v2/repository/index",
            "[{\"name\":\"iris\",\"version\":\"v1\",\"state\":\"READY\",\"reason\":\"\"}]",
            "/v2/models/iris/infer",
            "{\"model_name\":\"iris\",\"model_version\":\"v1\",\"id\":\"7\",\"parameters\":{},"
                    + "\"outputs\":[{\"name\":\"predict\",\"shape\":[1,1],\"datatype\":\"INT64\","
                    + "\"parameters\":{\"content_type\":\"np\"},\"data\":[0]}]}");

    private final Gateway triton;
    private final HttpServer mlserver =
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

    ExampleServers() throws Exception {
        triton = Gateway.start(ConfigLoader.parse(
                "triton.yaml",
                "{listeners: [{port: 0}], local: {embedded_models: true}, default_upstream: local}",
                Path.of(".")));
        mlserver.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            String response = MLSERVER.get(exchange.getRequestURI().getPath());
            byte[] body = (response == null ? "{\"detail\":\"Not Found\"}" : response).getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(response == null ? 404 : 200, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        mlserver.start();
    }

    /** The configuration with these servers' addresses. */
    String inPlaceOf(String config) {
        String grpc = "127.0.0.1:" + triton.addresses().get(0).getPort();
        return config.replace("127.0.0.1:8001", grpc)
                .replace("127.0.0.1:8011", grpc)
                .replace("127.0.0.1:8033", grpc)
                .replace("127.0.0.1:8090", "127.0.0.1:" + mlserver.getAddress().getPort());
    }

    @Override
    public void close() throws IOException {
        mlserver.stop(0);
        triton.close();
    }
}
