package dev.isthmus.gateway.logging;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.LoggingConfig;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** The log of a real gateway, and its levels over the admin address. */
class LoggingPagesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FORGED = "one\r\n2026 ERROR gateway - forged\u2028\u001b[2K\u001b[31mtwo";

    @TempDir
    Path folder = Path.of(".");

    private final CapturedLog log = new CapturedLog();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @SuppressWarnings("NullAway.Init") // set before each test
    private FakeGrpcServer server;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Gateway gateway;

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer(new Failing());
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        gateway = Gateway.start(config(token, LogFormat.JSON));
    }

    private static final class Failing implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            call.close(Status.INTERNAL.withDescription(FORGED), new Metadata());
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {}
    }

    @AfterEach
    void stop() throws Exception {
        gateway.close();
        server.close();
        log.close();
    }

    private GatewayConfig config(Path token, LogFormat format) throws Exception {
        return TestConfigs.with(
                GatewayConfig.DEFAULT.withAdmin(DefaultValues.with(AdminConfig.DEFAULT, "port", 0, "tokenFile", token)),
                Map.of(
                        "listeners",
                        List.of(Listener.DEFAULT.at("127.0.0.1", 0)),
                        "upstreams",
                        Map.of("u", TestConfigs.upstream(UpstreamProtocol.GRPC, server.endpoint())),
                        "models",
                        Map.of("m", ModelConfig.of("u")),
                        "logging",
                        new LoggingConfig(format, LogLevel.INFO, Map.of("tls", LogLevel.WARN))));
    }

    private HttpResponse<String> send(InetSocketAddress to, String method, String path, String... headers)
            throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + to.getPort() + path))
                .method(method, HttpRequest.BodyPublishers.ofString("{\"inputs\":[]}"));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> admin(String method, String path, String... headers) throws Exception {
        return send(gateway.adminAddress().orElseThrow(), method, path, headers);
    }

    private HttpResponse<String> set(String query) throws Exception {
        return admin("POST", "/logging" + query, "Authorization", "Bearer secret");
    }

    @Test
    void level_isSetForATime_withTheToken() throws Exception {
        assertThat(admin("POST", "/logging?level=debug&logger=fleet").statusCode())
                .isEqualTo(401);
        assertThat(JSON.readTree(admin("GET", "/logging").body())
                        .path("loggers")
                        .path("tls")
                        .path("level")
                        .asText())
                .isEqualTo("warn");
        JsonNode fleet = JSON.readTree(set("?level=debug&logger=fleet&for=5m").body())
                .path("loggers")
                .path("fleet");
        assertThat(fleet.path("level").asText()).isEqualTo("debug");
        assertThat(fleet.path("configured").asText()).isEqualTo("info");
        assertThat(fleet.has("until")).isTrue();
        assertThat(LoggerFactory.getLogger("dev.isthmus.gateway.fleet.X").isDebugEnabled())
                .isTrue();
        assertThat(log.line("log level of fleet is debug for 5m")).startsWith("{\"time\":\"");
        JsonNode all = JSON.readTree(set("?level=error").body()).path("loggers");
        assertThat(all.path("fleet").path("level").asText()).isEqualTo("error");
        assertThat(all.path("libraries").path("level").asText()).isEqualTo("info");
        assertThat(set("?level=default").body()).doesNotContain("until");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            ?level=loud                | parameter 'level': one of error, warn, info, debug, default is expected, got 'loud'
            ?logger=fleet              | parameter 'level': one of error, warn, info, debug, default is expected, got ''
            ?level=debug&logger=flet   | parameter 'logger': one of access, admin, audit, calls, catalogue, clients, fleet, gateway, libraries, local, ramps, shadows, tls is expected, got 'flet'
            ?level=debug&for=2d        | parameter 'for': a duration such as 30s or 10m, of at most 24h, is expected, got '2d'
            ?level=debug&for=0s        | parameter 'for': a duration such as 30s or 10m, of at most 24h, is expected, got '0s'
            ?level=debug&form=1m       | parameter 'form': one of level, logger, for is expected, got 'form'
            ?level=debug&level=info    | parameter 'level': one value is expected, got 'debug, info'
            """)
    void wrongParameter_isRefused(String query, String message) throws Exception {
        HttpResponse<String> refused = set(query);
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(JSON.readTree(refused.body()).path("error").asText()).isEqualTo(message);
    }

    /** A server's text, and a client's, cannot write lines of their own. */
    @Test
    void textsOfOthers_stayInTheirLine() throws Exception {
        send(
                gateway.addresses().getFirst(),
                "POST",
                "/v2/models/m/infer",
                "x-request-id",
                "a-1",
                "traceparent",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        JsonNode line = JSON.readTree(log.line("error text hidden"));
        assertThat(line.path("message").asText()).contains(FORGED);
        assertThat(line.path("level").asText()).isEqualTo("INFO");
        assertThat(line.path("logger").asText()).isEqualTo("calls");
        assertThat(line.path("request_id").asText()).isEqualTo("a-1");
        assertThat(line.path("trace_id").asText()).isEqualTo("0af7651916cd43dd8448eb211c80319c");
        assertThat(line.path("upstream").asText()).isEqualTo("u");
        assertThat(line.path("server").asText()).startsWith("127.0.0.1:");
        assertThat(line.path("model").asText()).isEqualTo("m");
        gateway.reload(config(folder.resolve("token"), LogFormat.TEXT));
        send(gateway.addresses().getFirst(), "POST", "/v2/models/m/infer", "x-request-id", "a-2");
        String text = log.line("request id a-2");
        assertThat(text).contains("one\\r\\n2026 ERROR gateway - forged\\u2028\\u001b[2K\\u001b[31mtwo");
        assertThat(log.lines()).noneMatch(each -> each.startsWith("2026 ERROR"));
    }

    @Test
    void failingCalls_areSaidOnce_withTheirCount() throws Exception {
        for (int i = 0; i < 20; i++) {
            send(gateway.addresses().getFirst(), "POST", "/v2/models/m/infer");
        }
        assertThat(log.lines())
                .filteredOn(line -> line.contains("a call failed"))
                .hasSize(2)
                .last()
                .asString()
                .contains("\"repeated\":19");
    }
}
