package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.AdminServer;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.console.ConsoleFiles.ConsolePage;
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
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The page and its files, from an address that is not loopback, where everything else needs the token. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConsoleFilesTest {
    private static final String TOKEN = "a-long-secret";

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private AdminServer server;

    @BeforeAll
    void start(@TempDir Path folder) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        AdminRoutes routes = new AdminRoutes()
                .route("GET", "/servers", request -> AdminResponse.json(200, Map.of()))
                .route("POST", "/reload", request -> AdminResponse.json(200, Map.of()));
        new ConsoleFiles(() -> true).addTo(routes);
        AdminConfig config = DefaultValues.with(AdminConfig.DEFAULT, "host", "0.0.0.0", "port", 0, "tokenFile", token);
        TlsRegistry tls = new TlsRegistry(new SimpleMeterRegistry());
        server = AdminServer.listen(Transport.best(), loops, config, tls, routes, new AuditLog(InstantSource.system()));
    }

    @AfterAll
    void stop() {
        server.close();
        loops.shutdownGracefully();
    }

    private String raw(String... lines) throws IOException {
        int port = server.address().getPort();
        String request =
                String.join("\r\n", lines).replace("PORT", Integer.toString(port)) + "\r\nConnection: close\r\n\r\n";
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String get(String path, String... headers) throws IOException {
        String[] lines = new String[headers.length + 2];
        lines[0] = "GET " + path + " HTTP/1.1";
        lines[1] = "Host: localhost:PORT";
        System.arraycopy(headers, 0, lines, 2, headers.length);
        return raw(lines);
    }

    private static String header(String response, String name) {
        Matcher found = Pattern.compile("(?im)^" + name + ": (.*?)\r?$").matcher(response);
        return found.find() ? found.group(1) : "";
    }

    @Test
    void page_needsNoToken_andAllowsNothingInlineOrForeign() throws IOException {
        String page = get("/");
        assertThat(page).startsWith("HTTP/1.1 200 ").contains("<title>Isthmus</title>");
        assertThat(header(page, "content-type")).isEqualTo("text/html; charset=utf-8");
        assertThat(header(page, "content-security-policy"))
                .isEqualTo("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
                        + " img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
        assertThat(header(page, "x-content-type-options")).isEqualTo("nosniff");
        assertThat(header(page, "x-frame-options")).isEqualTo("DENY");
        assertThat(header(page, "referrer-policy")).isEqualTo("no-referrer");
        assertThat(page)
                .doesNotContainPattern("<script(?![^>]* src=)")
                .doesNotContainPattern("(?i)\\s(style|on[a-z]+)=")
                .doesNotContainPattern("(src|href)=\"(https?:)?//");
    }

    @Test
    void navigation_hasThePagesThatExist() throws IOException {
        String page = get("/");
        for (ConsolePage each : ConsolePage.values()) {
            boolean exists = get("/console/files/" + each.id() + ".js").startsWith("HTTP/1.1 200 ");
            assertThat(page.contains("<a href=\"#/" + each.id() + "\">" + each.title() + "</a>"))
                    .as(each.id())
                    .isEqualTo(exists);
        }
        assertThat(page).contains("#/overview", "#/models", "#/servers", "#/canary");
    }

    @ParameterizedTest
    @CsvSource({
        "console.js,text/javascript; charset=utf-8",
        "console.css,text/css; charset=utf-8",
        "icon.svg,image/svg+xml",
    })
    void files_haveTheirTypes_andAreSentOnce(String name, String type) throws IOException {
        String file = get("/console/files/" + name);
        assertThat(file).startsWith("HTTP/1.1 200 ");
        assertThat(header(file, "content-type")).isEqualTo(type);
        assertThat(header(file, "cache-control")).isEqualTo("no-cache");
        assertThat(header(file, "content-security-policy")).startsWith("default-src 'none'");
        String tag = header(file, "etag");
        String again = get("/console/files/" + name, "If-None-Match: " + tag);
        assertThat(again).startsWith("HTTP/1.1 304 ").endsWith("\r\n\r\n");
        assertThat(header(again, "etag")).isEqualTo(tag);
        assertThat(get("/console/files/" + name, "If-None-Match: \"other\"")).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void modules_importFilesThatExist() throws IOException {
        Pattern imports = Pattern.compile("from '\\./([a-z]+\\.js)'");
        for (ConsolePage page : ConsolePage.values()) {
            Matcher names = imports.matcher(get("/console/files/" + page.id() + ".js"));
            while (names.find()) {
                assertThat(get("/console/files/" + names.group(1))).startsWith("HTTP/1.1 200 ");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "index.html",
                "ConsoleFiles.class",
                "package-info.class",
                "nothing.js",
                "../console/console.js",
                "%2e%2e/admin/AdminServer.class",
                "..%2fconsole.js",
                "..%5cconsole.js",
                "/etc/passwd",
                "%2fetc%2fpasswd",
                "console.js%00",
                "console.js/",
                "a/console.js",
                "CONSOLE.JS",
            })
    void names_ofOtherFiles_areUnknown(String name) throws IOException {
        assertThat(get("/console/files/" + name)).matches("(?s)HTTP/1.1 (404|400) .*");
    }

    @Test
    void documents_needTheTokenOrASession() throws IOException {
        assertThat(get("/servers")).startsWith("HTTP/1.1 401 ");
        assertThat(get("/servers", "Cookie: isthmus-session-PORT=x")).startsWith("HTTP/1.1 401 ");
        assertThat(get("/session")).startsWith("HTTP/1.1 200 ").contains("\"session\" : false");
        String cookie = header(login("localhost:PORT", "http://localhost:PORT"), "set-cookie")
                .split(";", -1)[0];
        String console = "X-Isthmus-Console: 1";
        assertThat(get("/servers", "Cookie: " + cookie, console)).startsWith("HTTP/1.1 200 ");
        assertThat(get("/servers", "Cookie: " + cookie)).startsWith("HTTP/1.1 403 ");
        assertThat(reload(cookie, console, "Origin: http://localhost:PORT")).startsWith("HTTP/1.1 200 ");
        assertThat(reload(cookie, console)).startsWith("HTTP/1.1 403 ");
        assertThat(reload(cookie, console, "Origin: http://evil.example")).startsWith("HTTP/1.1 403 ");
        assertThat(reload(cookie, console, "Origin: null")).startsWith("HTTP/1.1 403 ");
        assertThat(reload(cookie, "Origin: http://localhost:PORT")).startsWith("HTTP/1.1 403 ");
    }

    private String reload(String cookie, String... headers) throws IOException {
        String[] lines = new String[headers.length + 4];
        lines[0] = "POST /reload HTTP/1.1";
        lines[1] = "Host: localhost:PORT";
        lines[2] = "Content-Length: 0";
        lines[3] = "Cookie: " + cookie;
        System.arraycopy(headers, 0, lines, 4, headers.length);
        return raw(lines);
    }

    private String login(String host, String origin) throws IOException {
        String body = "{\"token\": \"" + TOKEN + "\"}";
        int port = server.address().getPort();
        String request = String.join(
                        "\r\n",
                        "POST /session HTTP/1.1",
                        "Host: " + host,
                        "Origin: " + origin,
                        "X-Isthmus-Console: 1",
                        "Connection: close",
                        "Content-Length: " + body.length(),
                        "",
                        body)
                .replace("PORT", Integer.toString(port));
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void login_fromElsewhere_isRefused() throws IOException {
        assertThat(login("localhost:PORT", "http://evil.example")).startsWith("HTTP/1.1 403 ");
        assertThat(login("evil.example", "http://evil.example")).startsWith("HTTP/1.1 421 ");
        assertThat(raw("GET / HTTP/1.1", "Host: evil.example")).startsWith("HTTP/1.1 421 ");
    }

    @Test
    void links_ofOtherSites_leadToThePage_andToNothingElse() throws IOException {
        String site = "Sec-Fetch-Site: cross-site";
        assertThat(get("/", site, "Sec-Fetch-Mode: navigate")).startsWith("HTTP/1.1 200 ");
        assertThat(get("/", site, "Sec-Fetch-Mode: no-cors")).startsWith("HTTP/1.1 403 ");
        assertThat(get("/console/files/console.js", site, "Sec-Fetch-Mode: navigate"))
                .startsWith("HTTP/1.1 403 ");
        assertThat(get("/session", site, "Sec-Fetch-Mode: navigate")).startsWith("HTTP/1.1 403 ");
    }
}
