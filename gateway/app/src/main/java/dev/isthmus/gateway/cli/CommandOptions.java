package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** Options in the forms that several commands have, and their values. */
final class CommandOptions {
    static final int MAX_PORT = 65_535;

    /** Of all commands that send requests: the token that they send. */
    static final Option TOKEN =
            valued("token-file", "FILE", "File with a token, sent as 'authorization: Bearer TOKEN'.");
    /** Of the same: whose certificates they accept. */
    static final Option AUTHORITY = valued(
            "ca-file",
            "FILE",
            "PEM file with the authorities that may have issued the server's certificate; default: those of the JVM.");

    private CommandOptions() {}

    static Option valued(String name, String value, String description) {
        return valued(null, name, value, description);
    }

    /** As {@link #valued(String, String, String)}, with a letter; null for none. */
    static Option valued(@Nullable String letter, String name, String value, String description) {
        return Option.builder(letter)
                .longOpt(name)
                .hasArg()
                .argName(value)
                .desc(description)
                .get();
    }

    /** {@code --output} with one of these words, the first by default. */
    static Option output(String description, String... words) {
        return valued("o", "output", String.join("|", words), description + " Default: " + words[0] + ".");
    }

    static Option flag(String name, String description) {
        return Option.builder().longOpt(name).desc(description).get();
    }

    /**
     * A model, as NAME or NAME/VERSION.
     *
     * @param what before the message if it is none
     * @throws UsageException if it is none
     */
    static ModelRef model(String what, String text) throws UsageException {
        String[] parts = text.split("/", 2);
        try {
            return NameGrammar.checked(new ModelRef(parts[0], parts.length > 1 ? parts[1] : ""));
        } catch (OipException e) {
            throw new UsageException(what + e.message());
        }
    }

    /**
     * The URL of a server, without a path; http if only host and port are given.
     *
     * @throws UsageException if it is none, or absent
     */
    static URI server(Option option, @Nullable String text) throws UsageException {
        String given = text == null ? "" : text;
        boolean complete = given.contains("://");
        try {
            URI url = new URI(complete ? given.replaceFirst("/$", "") : "http://" + given);
            if (("http".equals(url.getScheme()) || "https".equals(url.getScheme()))
                    && url.getHost() != null
                    && (complete || url.getPort() > 0)
                    && url.getPort() <= MAX_PORT
                    && url.getUserInfo() == null
                    && url.getQuery() == null
                    && url.getFragment() == null
                    && url.getPath().isEmpty()) {
                return url;
            }
        } catch (URISyntaxException e) {
            // Reported below.
        }
        throw new UsageException(name(option)
                + ": HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got "
                + (text == null ? "none" : "'" + text + "'"));
    }

    /** The names of an option in messages: "-n, --count". */
    static String name(Option option) {
        return (option.getOpt() == null ? "" : "-" + option.getOpt() + ", ") + "--" + option.getLongOpt();
    }

    /**
     * The token; null if the option is absent.
     *
     * @throws UsageException if its file cannot be read, or has none
     */
    static @Nullable String token(Arguments arguments) throws UsageException {
        Path file = arguments.file(TOKEN);
        String token = file == null ? null : text(TOKEN, file).strip();
        if (token != null && !token.matches("[ -~]+")) {
            throw new UsageException(name(TOKEN) + ": a file with one line of printable ASCII characters is expected");
        }
        return token;
    }

    /** The value of the header {@code authorization}. */
    static String bearer(String token) {
        return "Bearer " + token;
    }

    /**
     * The text of an option's file.
     *
     * @throws UsageException if it cannot be read
     */
    static String text(Option option, Path file) throws UsageException {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UsageException(name(option) + ": a file with text is expected: " + FailureReason.of(e));
        }
    }
}
