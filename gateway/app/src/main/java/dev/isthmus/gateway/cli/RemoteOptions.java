package dev.isthmus.gateway.cli;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/**
 * How a command reaches a running gateway, and how it prints.
 *
 * @param admin the admin address
 * @param token the admin token; null for none
 * @param authority file with the certificates of the authorities that may have issued the gateway's; null for those of
 *     the JDK
 * @param json whether the output is JSON
 */
record RemoteOptions(
        URI admin, @Nullable String token, @Nullable Path authority, boolean json) {
    private static final String DEFAULT_ADMIN = "http://127.0.0.1:9901";
    private static final String TABLE = "table";
    private static final String JSON = "json";

    private static final Option ADMIN = CommandOptions.valued(
            "admin", "URL", "Admin address of the gateway, HOST:PORT or a URL; default " + DEFAULT_ADMIN + ".");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", TABLE, JSON);

    /** The options of every command that asks a running gateway, and further ones. */
    static List<Option> with(Option... further) {
        List<Option> all = new ArrayList<>(List.of(ADMIN, ServerOptions.TOKEN, ServerOptions.AUTHORITY, OUTPUT));
        all.addAll(List.of(further));
        return all;
    }

    /** @throws UsageException if a value is not what is expected */
    static RemoteOptions of(Arguments arguments) throws UsageException {
        String output = CommandOptions.word(arguments, OUTPUT, TABLE, JSON);
        return new RemoteOptions(
                address(Objects.requireNonNullElse(arguments.text(ADMIN), DEFAULT_ADMIN)),
                ServerOptions.token(arguments),
                arguments.file(ServerOptions.AUTHORITY),
                output.equals(JSON));
    }

    private static URI address(String text) throws UsageException {
        try {
            String url = text.contains("://") ? text : "http://" + text;
            URI uri = new URI(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
            boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            if (http
                    && uri.getHost() != null
                    && (uri.getPort() > 0 || text.contains("://"))
                    && uri.getRawPath().isEmpty()
                    && uri.getRawQuery() == null) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Reported below.
        }
        throw new UsageException(
                "--admin: HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got '" + text + "'");
    }
}
