package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.flow.GrpcWebClient.HttpVersion;
import dev.isthmus.gateway.flow.GrpcWebClient.WebResponse;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What pages of other origins may do, over both versions of HTTP. */
class CorsTest {
    private static final String PAGE = "https://app.example.com";
    private static final String FOREIGN = "https://app.example.org";
    private static final String KEY = "key-of-alice";
    private static final String INFER = "/v2/models/simple/infer";
    private static final String LIVE = "/v2/health/live";
    private static final byte[] NOTHING = {};
    private static final String LOCAL = """
            default_upstream: local
            local: {embedded_models: true}
            health: {warm_up: 0s}
            """;
    private static final String ALLOWED =
            "listeners: [{port: 0, grpc_web: true, cors: {origins: [\"https://*.example.com\"], headers: [x-mine], "
                    + "exposed_headers: [x-theirs], max_age: 30s}}]\n";

    @TempDir
    Path folder = Path.of(".");

    private Stage stage(String yaml) throws Exception {
        return Stage.with(ConfigLoader.parse("test.yaml", yaml, folder));
    }

    private static GrpcWebClient client(Stage stage, HttpVersion version) {
        return new GrpcWebClient(stage.port(), version, GrpcWebForm.BINARY);
    }

    private static WebResponse preflight(GrpcWebClient client, String path, String origin) throws Exception {
        return client.ask(
                "OPTIONS",
                path,
                NOTHING,
                "origin",
                origin,
                "access-control-request-method",
                "POST",
                "access-control-request-headers",
                "content-type,x-grpc-web");
    }

    private String authentication() throws Exception {
        Path keys = folder.resolve("keys");
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(KEY.getBytes(StandardCharsets.UTF_8));
        Files.writeString(keys, ApiKeyFile.line("alice", digest) + "\n");
        Files.setPosixFilePermissions(keys, PosixFilePermissions.fromString("rw-------"));
        return """
                authentication: {api_keys: {file: keys}, health: authenticated}
                access: {rules: [{name: all, who: {names: [alice]}, may: [infer, metadata]}]}
                """;
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void preflight_isServed_withoutACredential(HttpVersion version) throws Exception {
        try (Stage stage = stage(ALLOWED + LOCAL + authentication())) {
            GrpcWebClient client = client(stage, version);
            for (String path : new String[] {INFER, GrpcWebClient.SERVICE + "ModelInfer", "/anything"}) {
                WebResponse response = preflight(client, path, PAGE);
                assertThat(response.status()).isEqualTo(200);
                assertThat(response.latin()).isEmpty();
                assertThat(response.header("access-control-allow-origin")).isEqualTo(PAGE);
                assertThat(response.header("access-control-allow-methods")).isEqualTo("GET, POST");
                assertThat(response.header("access-control-allow-headers").split(", "))
                        .contains("content-type", "authorization", "x-grpc-web", "x-user-agent", "x-mine");
                assertThat(response.header("access-control-max-age")).isEqualTo("30");
                assertThat(response.header("vary")).isEqualTo("origin");
                assertThat(response.headers()).doesNotContainKey("access-control-allow-credentials");
            }
            assertThat(stage.proxy().meters().find("isthmus.requests").timers()).isEmpty();
            assertThat(preflights(stage, "allowed")).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void foreignPage_isNotAllowed(HttpVersion version) throws Exception {
        try (Stage stage = stage(ALLOWED + LOCAL)) {
            GrpcWebClient client = client(stage, version);
            for (String origin : new String[] {FOREIGN, "https://example.com", "http://app.example.com", "null"}) {
                WebResponse response = preflight(client, INFER, origin);
                assertThat(response.status()).isEqualTo(403);
                assertThat(response.latin()).contains("header Origin: ", "got '" + origin + "'");
                expectNoAccess(response);
                expectNoAccess(client.ask("GET", LIVE, NOTHING, "origin", origin));
            }
            assertThat(preflights(stage, "refused")).isEqualTo(4);
            // A response to a request without an origin must not be cached for one that has an origin.
            expectNoAccess(client.ask("GET", LIVE, NOTHING));
        }
    }

    private static double preflights(Stage stage, String result) {
        return stage.proxy()
                .meters()
                .get("isthmus.cors.preflights")
                .tag("result", result)
                .counter()
                .count();
    }

    private static void expectNoAccess(WebResponse response) {
        assertThat(response.headers())
                .doesNotContainKeys("access-control-allow-origin", "access-control-expose-headers")
                .containsEntry("vary", "origin");
    }

    private static void expectAccess(WebResponse response, int status) {
        assertThat(response.status()).as(response.latin()).isEqualTo(status);
        assertThat(response.header("access-control-allow-origin")).isEqualTo(PAGE);
        assertThat(response.header("access-control-expose-headers").split(", "))
                .contains("grpc-status", "grpc-message", "x-request-id", "retry-after", "x-theirs");
        assertThat(response.header("vary")).isEqualTo("origin");
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void refusals_canBeRead(HttpVersion version) throws Exception {
        try (Stage stage = stage(ALLOWED + LOCAL + "limits: {max_body_size: 64KiB}\n" + authentication())) {
            GrpcWebClient client = client(stage, version);
            expectAccess(client.ask("GET", LIVE, NOTHING, "origin", PAGE), 401);
            expectAccess(client.ask("GET", LIVE, NOTHING, "origin", PAGE, "x-api-key", KEY), 403);
            expectAccess(client.ask("GET", "/v2/nothing", NOTHING, "origin", PAGE, "x-api-key", KEY), 404);
            expectAccess(client.ask("PUT", INFER, NOTHING, "origin", PAGE, "x-api-key", KEY), 405);
            byte[] large = " ".repeat(70_000).getBytes(StandardCharsets.US_ASCII);
            expectAccess(client.ask("POST", INFER, large, "origin", PAGE, "x-api-key", KEY), 413);
            expectAccess(client.ask("GET", "/v2", NOTHING, "origin", PAGE, "x-api-key", KEY), 200);
            WebResponse grpc = client.send("ServerLive", GrpcWebClient.frame(0, NOTHING), "origin", PAGE);
            expectAccess(grpc, 200);
            assertThat(grpc.frames().status()).isEqualTo(16);
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void grpcWeb_ofAPage(HttpVersion version) throws Exception {
        try (Stage stage = stage(ALLOWED + LOCAL)) {
            WebResponse response =
                    client(stage, version).send("ServerLive", GrpcWebClient.frame(0, NOTHING), "origin", PAGE);
            expectAccess(response, 200);
            assertThat(response.frames().status()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void management_staysRefused(HttpVersion version) throws Exception {
        String load = "/v2/repository/models/simple/load";
        try (Stage stage = stage(ALLOWED + LOCAL)) {
            WebResponse response = client(stage, version)
                    .ask("POST", load, NOTHING, "origin", PAGE, "content-type", "application/json");
            expectAccess(response, 403);
        }
        // Where it is allowed, a page of another origin cannot send it without a preflight request, which is refused.
        try (Stage stage = stage(ALLOWED.replace("port: 0,", "port: 0, management: allow,") + LOCAL)) {
            GrpcWebClient client = client(stage, version);
            WebResponse simple = client.ask("POST", load, NOTHING, "origin", FOREIGN, "content-type", "text/plain");
            assertThat(simple.status()).isEqualTo(415);
            assertThat(preflight(client, load, FOREIGN).status()).isEqualTo(403);
            WebResponse grpc = client.ask(
                    "POST",
                    GrpcWebClient.SERVICE + "RepositoryModelLoad",
                    GrpcWebClient.frame(0, NOTHING),
                    "content-type",
                    "text/plain",
                    "origin",
                    FOREIGN);
            assertThat(grpc.status()).isEqualTo(415);
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void allOrigins(HttpVersion version) throws Exception {
        try (Stage stage = stage("listeners: [{port: 0, cors: {origins: [\"*\"]}}]\n" + LOCAL)) {
            WebResponse response = client(stage, version).ask("GET", LIVE, NOTHING, "origin", "null");
            assertThat(response.header("access-control-allow-origin")).isEqualTo("*");
            assertThat(response.headers()).doesNotContainKey("vary");
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void credentials_areAllowedToThePage(HttpVersion version) throws Exception {
        String listener = "listeners: [{port: 0, cors: {origins: [\"" + PAGE + "\"], credentials: true}}]\n";
        try (Stage stage = stage(listener + LOCAL)) {
            GrpcWebClient client = client(stage, version);
            for (WebResponse response :
                    new WebResponse[] {preflight(client, INFER, PAGE), client.ask("GET", LIVE, NOTHING, "origin", PAGE)
                    }) {
                assertThat(response.header("access-control-allow-origin")).isEqualTo(PAGE);
                assertThat(response.header("access-control-allow-credentials")).isEqualTo("true");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void withoutTheSection_nothingIsAdded(HttpVersion version) throws Exception {
        try (Stage stage = stage("listeners: [{port: 0}]\n" + LOCAL)) {
            GrpcWebClient client = client(stage, version);
            WebResponse preflight = preflight(client, INFER, PAGE);
            assertThat(preflight.status()).isEqualTo(405);
            assertThat(preflight.headers()).doesNotContainKeys("access-control-allow-origin", "vary");
            assertThat(client.ask("GET", LIVE, NOTHING, "origin", PAGE).headers())
                    .doesNotContainKeys("access-control-allow-origin", "vary");
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void otherRequests_withOptions_areNoPreflight(HttpVersion version) throws Exception {
        try (Stage stage = stage(ALLOWED + LOCAL)) {
            expectAccess(client(stage, version).ask("OPTIONS", INFER, NOTHING, "origin", PAGE), 405);
        }
    }

    @ParameterizedTest
    @EnumSource(HttpVersion.class)
    void headersOfTheUpstream_doNotCount_andCodingsVaryToo(HttpVersion version) throws Exception {
        String body = Infer.responseJson("m", "one", 1);
        String padded =
                body.substring(0, body.length() - 1) + ",\"parameters\":{\"x\":\"" + "a".repeat(20_000) + "\"}}";
        String sent = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n"
                + "Access-Control-Allow-Credentials: true\r\nContent-Length: " + padded.length() + "\r\n\r\n" + padded;
        String fleet = """
                headers: {return: ["access-control-*"]}
                health: {warm_up: 0s}
                default_upstream: server
                upstreams: {server: {protocol: rest, dialect: kserve, endpoints: ["127.0.0.1:PORT"]}}
                """;
        try (FakeRestServer server = FakeRestServer.sending(sent);
                Stage stage = stage(ALLOWED
                        + fleet.replace(
                                "PORT", Integer.toString(server.endpoint().port())))) {
            WebResponse response = client(stage, version)
                    .ask(
                            "POST",
                            "/v2/models/m/infer",
                            Infer.json("one", 1).getBytes(StandardCharsets.UTF_8),
                            "origin",
                            PAGE,
                            "accept-encoding",
                            "gzip");
            assertThat(response.status()).as(response.latin()).isEqualTo(200);
            assertThat(response.header("access-control-allow-origin")).isEqualTo(PAGE);
            assertThat(response.headers()).doesNotContainKey("access-control-allow-credentials");
            assertThat(response.header("content-encoding")).isEqualTo("gzip");
            assertThat(response.header("vary")).isEqualTo("accept-encoding, origin");
        }
    }
}
