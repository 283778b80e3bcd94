package dev.isthmus.gateway.cli;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/**
 * How a command reaches a running gateway, and how it prints.
 *
 * @param admin the admin address
 * @param token file with the admin token; null for none
 * @param authority file with the certificates of the authorities that may have issued the gateway's; null for those of
 *     the JDK
 * @param json whether the output is JSON
 */
record RemoteOptions(
        URI admin, @Nullable Path token, @Nullable Path authority, boolean json) {
    private static final String DEFAULT_ADMIN = "http://127.0.0.1:9901";
    private static final String TABLE = "table";
    private static final String JSON = "json";

    private static final Option ADMIN = Option.builder()
            .longOpt("admin")
            .hasArg()
            .argName("URL")
            .desc("Admin address of the gateway; default " + DEFAULT_ADMIN + ".")
            .get();
    private static final Option TOKEN = Option.builder()
            .longOpt("token-file")
            .hasArg()
            .argName("FILE")
            .desc("File with the admin token.")
            .get();
    private static final Option AUTHORITY = Option.builder()
            .longOpt("ca-file")
            .hasArg()
            .argName("FILE")
            .desc("PEM file with the authorities that may have issued the gateway's certificate.")
            .get();
    private static final Option OUTPUT = Option.builder("o")
            .longOpt("output")
            .hasArg()
            .argName("FORMAT")
            .desc("table (the default) or json.")
            .get();

    /** The options of every command that asks a running gateway. */
    static final List<Option> ALL = List.of(ADMIN, TOKEN, AUTHORITY, OUTPUT);

    /** @throws UsageException if a value is not what is expected */
    static RemoteOptions of(Arguments arguments) throws UsageException {
        String output = Objects.requireNonNullElse(arguments.text(OUTPUT), TABLE);
        if (!output.equals(TABLE) && !output.equals(JSON)) {
            throw new UsageException("--output: table or json is expected, got '" + output + "'");
        }
        return new RemoteOptions(
                address(Objects.requireNonNullElse(arguments.text(ADMIN), DEFAULT_ADMIN)),
                arguments.file(TOKEN),
                arguments.file(AUTHORITY),
                output.equals(JSON));
    }

    private static URI address(String text) throws UsageException {
        try {
            URI uri = new URI(text.endsWith("/") ? text.substring(0, text.length() - 1) : text);
            boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            if (http && uri.getHost() != null && uri.getRawPath().isEmpty() && uri.getRawQuery() == null) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Reported below.
        }
        throw new UsageException("--admin: http://HOST:PORT or https://HOST:PORT is expected, got '" + text + "'");
    }
}
