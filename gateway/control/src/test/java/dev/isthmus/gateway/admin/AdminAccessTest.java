package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.admin.AdminAccess.AdminHosts;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which requests the admin listener accepts: not those that a foreign page makes a browser send. */
class AdminAccessTest {
    private static final String TOKEN = "a-long-secret";

    @TempDir
    Path folder = Path.of(".");

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private @Nullable AdminServer server;

    @AfterEach
    void close() {
        if (server != null) {
            server.close();
        }
        loops.shutdownGracefully();
    }

    private void start(String host, String... allowed) throws Exception {
        AdminRoutes routes = new AdminRoutes();
        routes.route("GET", "/live", RouteAccess.OPEN, request -> AdminResponse.json(200, Map.of("live", true)));
        for (String path : List.of("/config", "/metrics", "/servers")) {
            routes.route("GET", path, request -> AdminResponse.json(200, Map.of("the", "document")));
        }
        routes.route("POST", "/reload", request -> AdminResponse.json(202, Map.of()));
        AdminConfig config = DefaultValues.with(
                AdminConfig.DEFAULT,
                "host",
                host,
                "port",
                0,
                "tokenFile",
                token("rw-------"),
                "allowedHosts",
                List.of(allowed));
        TlsRegistry tls = new TlsRegistry(new SimpleMeterRegistry());
        server = AdminServer.listen(Transport.best(), loops, config, tls, routes, new AuditLog(InstantSource.system()));
    }

    private Path token(String permissions) throws IOException {
        Path file = Files.writeString(folder.resolve("token"), TOKEN + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    private int port() {
        return server == null ? 0 : server.address().getPort();
    }

    /** The response to a request of these lines, in which PORT stands for the port. */
    private String raw(String... lines) throws IOException {
        String request =
                String.join("\r\n", lines).replace("PORT", Integer.toString(port())) + "\r\nConnection: close\r\n\r\n";
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }

    private int status(String... lines) throws IOException {
        return Integer.parseInt(raw(lines).split(" ", 3)[1]);
    }

    private int statusFor(String host) throws IOException {
        return status("GET /live HTTP/1.1", "Host: " + host);
    }

    @ParameterizedTest
    @CsvSource({
        "localhost,200",
        "LOCALHOST:PORT,200",
        "localhost.:PORT,200",
        "127.0.0.1,200",
        "127.0.0.1:1,200",
        "127.8.9.10:PORT,200",
        "[::1]:PORT,200",
        "[::1],200",
        "evil.example,421",
        "evil.example:PORT,421",
        "localhost.evil.example,421",
        "127.0.0.1.evil.example:PORT,421",
        "10.0.0.1,421",
        "[2001:db8::1]:PORT,421",
        "::1,400",
        "localhost:PORT:1,400",
        "localhost:x,400",
        "'127.0.0.1,evil.example',421",
        "user@localhost,400",
        "'',421",
    })
    void host_onLoopback_isOfLoopback(String host, int status) throws Exception {
        start("127.0.0.1");
        assertThat(statusFor(host)).isEqualTo(status);
    }

    @Test
    void host_notAccepted_isReportedWithTheKeyToSet() throws Exception {
        start("127.0.0.1");
        assertThat(raw("GET /config HTTP/1.1", "Host: evil.example:PORT"))
                .startsWith("HTTP/1.1 421 ")
                .contains("application/json")
                .contains("'evil.example:" + port() + "'")
                .contains("localhost")
                .contains("admin.allowed_hosts")
                .doesNotContain("document");
    }

    @ParameterizedTest
    @CsvSource({
        "localhost:PORT,200",
        "10.2.3.4:PORT,200",
        "[fd00::5]:PORT,200",
        "metrics.fleet,200",
        "METRICS.fleet.:PORT,200",
        "a.b.ops.example,200",
        "ops.example,421",
        "xops.example,421",
        "evil.example,421",
        "isthmus.default.svc,421",
    })
    void host_elsewhere_isAnAddressOrAllowed(String host, int status) throws Exception {
        start("0.0.0.0", "metrics.fleet", "*.ops.example");
        assertThat(statusFor(host)).isEqualTo(status);
    }

    @Test
    void reading_elsewhere_needsTheToken_exceptForProbes() throws Exception {
        start("0.0.0.0");
        assertThat(status("GET /live HTTP/1.1", "Host: 127.0.0.1")).isEqualTo(200);
        for (String path : List.of("/config", "/metrics", "/servers", "/live/..%2fconfig")) {
            assertThat(status("GET " + path + " HTTP/1.1", "Host: 127.0.0.1")).isIn(401, 404);
        }
        assertThat(status("GET /metrics HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer " + TOKEN))
                .isEqualTo(200);
    }

    @Test
    void hosts_allAllowed_areNotLookedAt() throws Exception {
        start("127.0.0.1", "*");
        assertThat(statusFor("evil.example")).isEqualTo(200);
    }

    @Test
    void host_configuredAsName_isAccepted() {
        AdminHosts hosts =
                new AdminHosts(DefaultValues.with(AdminConfig.DEFAULT, "host", "Gateway.Fleet", "port", 0), false);
        assertThat(hosts.accepts("gateway.fleet:9901")).isTrue();
        assertThat(hosts.accepts("gateway.fleet.evil:9901")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /live HTTP/1.1",
                "GET /live HTTP/1.1|Host: localhost|Host: localhost",
                "GET http://127.0.0.1:PORT/live HTTP/1.1|Host: localhost:PORT",
                "GET http://user@localhost/live HTTP/1.1|Host: localhost",
            })
    void host_missingTwiceOrOtherThanTheTarget_isMalformed(String request) throws Exception {
        start("127.0.0.1");
        assertThat(status(request.split("\\|"))).isEqualTo(400);
    }

    @Test
    void target_inAbsoluteForm_isTaken_andItsHostLookedAt() throws Exception {
        start("127.0.0.1", "ok.example");
        assertThat(status("GET http://localhost:PORT/live HTTP/1.1", "Host: localhost:PORT"))
                .isEqualTo(200);
        assertThat(status("GET http://evil.example/live HTTP/1.1", "Host: evil.example"))
                .isEqualTo(421);
        assertThat(status("GET http://evil.example/live HTTP/1.0")).isEqualTo(421);
        assertThat(status("GET /live HTTP/1.0")).isEqualTo(200);
    }

    /** Their connection ends with the response, whatever they ask for, and they are told so. */
    @Test
    void clientsOfHttp10_doNotWaitForMore() throws Exception {
        start("127.0.0.1");
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream()
                    .write("GET /live HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
                            .getBytes(StandardCharsets.ISO_8859_1));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                    .containsIgnoringCase("\r\nconnection: close\r\n");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "Origin: http://localhost:PORT,200",
        "Origin: http://LocalHost:PORT,200",
        "Origin: https://localhost:PORT,200",
        "Origin: http://localhost,403",
        "Origin: http://127.0.0.1:PORT,403",
        "Origin: http://evil.example,403",
        "Origin: null,403",
        "Origin: file://localhost:PORT,403",
        "Origin: http://localhost:PORT/,403",
        "Origin:,403",
        "Sec-Fetch-Site: cross-site,403",
        "Sec-Fetch-Site: same-origin,200",
        "Sec-Fetch-Site: none,200",
    })
    void origin_isTheAddressItself(String field, int status) throws Exception {
        start("127.0.0.1");
        assertThat(status("GET /live HTTP/1.1", "Host: localhost:PORT", field)).isEqualTo(status);
        String response = raw(
                "POST /reload HTTP/1.1",
                "Host: localhost:PORT",
                "Content-Length: 0",
                "Authorization: Bearer " + TOKEN,
                field);
        assertThat(response).startsWith("HTTP/1.1 " + (status == 200 ? 202 : status) + " ");
    }

    @Test
    void origins_two_areRefused() throws Exception {
        start("127.0.0.1");
        assertThat(status(
                        "GET /live HTTP/1.1",
                        "Host: localhost:PORT",
                        "Origin: http://localhost:PORT",
                        "Origin: http://evil.example"))
                .isEqualTo(403);
    }

    @ParameterizedTest
    @CsvSource({
        "rw-------,202",
        "r--------,202",
        "r--r-----,202",
        "rw-r-----,202",
        "rw-r--r--,503",
        "rw-----w-,503",
        "rw-rw----,503",
    })
    void token_thatOthersReach_isNotUsed(String permissions, int status) throws Exception {
        start("127.0.0.1");
        token(permissions);
        String response =
                raw("POST /reload HTTP/1.1", "Host: localhost", "Content-Length: 0", "Authorization: Bearer " + TOKEN);
        assertThat(response).startsWith("HTTP/1.1 " + status + " ").doesNotContain(folder.toString());
        if (status == 503) {
            assertThat(response).contains("chmod 600").contains("admin.token_file");
        }
    }

    /** Kubernetes mounts secrets as symbolic links, whose own permissions are irrelevant. */
    @Test
    void token_behindALink_isLookedAt() throws Exception {
        start("127.0.0.1");
        Path real = Files.move(folder.resolve("token"), folder.resolve("real"));
        Files.createSymbolicLink(folder.resolve("token"), real);
        String[] reload = {
            "POST /reload HTTP/1.1", "Host: localhost", "Content-Length: 0", "Authorization: Bearer " + TOKEN
        };
        assertThat(status(reload)).isEqualTo(202);
        Files.setPosixFilePermissions(real, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(status(reload)).isEqualTo(503);
    }
}
