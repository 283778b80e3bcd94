package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.net.FailureReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** The options of all commands that send requests: the token that they send, and whose certificates they accept. */
final class ServerOptions {
    static final Option TOKEN =
            CommandOptions.valued("token-file", "FILE", "File with a token, sent as 'authorization: Bearer TOKEN'.");
    static final Option AUTHORITY = CommandOptions.valued(
            "ca-file",
            "FILE",
            "PEM file with the authorities that may have issued the server's certificate; default: those of the JVM.");

    private ServerOptions() {}

    /**
     * The token; null if the option is absent.
     *
     * @throws UsageException if its file cannot be read
     */
    static @Nullable String token(Arguments arguments) throws UsageException {
        Path file = arguments.file(TOKEN);
        return file == null ? null : text(TOKEN, file).strip();
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
            throw new UsageException(
                    CommandOptions.name(option) + ": a file with text is expected: " + FailureReason.of(e));
        }
    }
}
