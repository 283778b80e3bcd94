package dev.isthmus.gateway.console;

import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.settings.Digests;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Serves the console's page and files, which are resources of this package. */
public final class ConsoleFiles {
    private static final String PAGE = "index.html";
    private static final String NAVIGATION = "<!-- navigation -->";
    private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
            + " img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
    private static final Pattern NAME = Pattern.compile("[a-z]+\\.(js|css|svg)");
    private static final Map<String, String> TYPES = Map.of(
            "html", "text/html; charset=utf-8",
            "js", "text/javascript; charset=utf-8",
            "css", "text/css; charset=utf-8",
            "svg", "image/svg+xml");

    private final BooleanSupplier peers;
    private final Map<String, ConsoleFile> files = new ConcurrentHashMap<>();

    private record ConsoleFile(String type, String text, String tag) {}

    /** @param peers whether there is a page for other gateways; it stays so */
    public ConsoleFiles(BooleanSupplier peers) {
        this.peers = peers;
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/", RouteAccess.OPEN, request -> respond(request, page()))
                .route("GET", "/console/files/*", RouteAccess.OPEN, this::file);
    }

    private AdminResponse file(AdminRequest request) {
        String name = request.tail();
        ConsoleFile found = NAME.matcher(name).matches() ? files.computeIfAbsent(name, ConsoleFiles::load) : null;
        return found == null ? AdminResponse.error(404, "no such file") : respond(request, found);
    }

    private ConsoleFile page() {
        return files.computeIfAbsent(PAGE, name -> of(name, text(PAGE).replace(NAVIGATION, navigation())));
    }

    /** Names and titles are constants, which need no escapes. */
    private String navigation() {
        return Arrays.stream(ConsolePage.values())
                .filter(page -> page != ConsolePage.GATEWAYS || peers.getAsBoolean())
                .map(page -> "<a href=\"#/" + page.id() + "\">" + page.title() + "</a>")
                .collect(Collectors.joining("\n      "));
    }

    private static @Nullable ConsoleFile load(String name) {
        return ConsoleFiles.class.getResource(name) == null ? null : of(name, text(name));
    }

    private static String text(String name) {
        try (InputStream in = Objects.requireNonNull(ConsoleFiles.class.getResourceAsStream(name))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ConsoleFile of(String name, String text) {
        String type = TYPES.getOrDefault(name.substring(name.lastIndexOf('.') + 1), "");
        return new ConsoleFile(
                type, text, '"' + Digests.hex(Digests.SHA_256, text).substring(0, 32) + '"');
    }

    private static AdminResponse respond(AdminRequest request, ConsoleFile file) {
        boolean known = request.header().apply("if-none-match").equals(file.tag());
        AdminResponse response =
                known ? AdminResponse.notModified(file.type()) : AdminResponse.text(file.type(), file.text());
        return response.with("etag", file.tag())
                .with("cache-control", "no-cache")
                .with("content-security-policy", POLICY)
                .with("cross-origin-opener-policy", "same-origin")
                .with("cross-origin-resource-policy", "same-origin")
                .with("referrer-policy", "no-referrer")
                .with("x-frame-options", "DENY");
    }

    /** The pages of the console, in the order of its navigation. */
    enum ConsolePage {
        OVERVIEW("Overview"),
        MODELS("Models"),
        SERVERS("Servers"),
        /** Only with peers. */
        GATEWAYS("Gateways"),
        TRAFFIC("Traffic"),
        CANARY("Canary"),
        TRY("Try it"),
        CONFIGURATION("Configuration"),
        LIVE("Live"),
        AUDIT("Audit");

        private final String id = name().toLowerCase(Locale.ROOT);
        private final String title;

        ConsolePage(String title) {
            this.title = title;
        }

        /** Its address after {@code #/}, and the name of its module. */
        String id() {
            return id;
        }

        String title() {
            return title;
        }
    }
}
