package dev.isthmus.gateway.cli;

import java.net.URI;
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
    private static final String JSON = "json";

    private static final Option ADMIN = CommandOptions.valued(
            "admin", "URL", "Admin address of the gateway, HOST:PORT or a URL; default " + DEFAULT_ADMIN + ".");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", "table", JSON);

    /** The options of every command that asks a running gateway, and further ones. */
    static List<Option> with(Option... further) {
        List<Option> all = new ArrayList<>(List.of(ADMIN, CommandOptions.TOKEN, CommandOptions.AUTHORITY, OUTPUT));
        all.addAll(List.of(further));
        return all;
    }

    /** @throws UsageException if a value is not what is expected */
    static RemoteOptions of(Arguments arguments) throws UsageException {
        return new RemoteOptions(
                CommandOptions.server(ADMIN, Objects.requireNonNullElse(arguments.text(ADMIN), DEFAULT_ADMIN)),
                CommandOptions.token(arguments),
                arguments.file(CommandOptions.AUTHORITY),
                arguments.word(OUTPUT).equals(JSON));
    }
}
