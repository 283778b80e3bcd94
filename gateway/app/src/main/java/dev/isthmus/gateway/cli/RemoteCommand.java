package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** A command that asks the admin address of a running gateway for a document and prints it. */
class RemoteCommand extends Command {
    private final Question question;
    private final BiConsumer<JsonNode, Console> print;

    /** Asks a gateway for a document; one with an {@code error} is printed, too. */
    @FunctionalInterface
    interface Question {
        JsonNode ask(AdminClient admin, Arguments arguments) throws Exception;
    }

    /**
     * @param description lines of the help text
     * @param print prints the document for people
     * @param further options of this command alone
     */
    RemoteCommand(
            String name,
            String description,
            Question question,
            BiConsumer<JsonNode, Console> print,
            Option... further) {
        this(name, List.of(), description, question, print, further);
    }

    /** @param operands as in {@link Command#operands} */
    RemoteCommand(
            String name,
            List<String> operands,
            String description,
            Question question,
            BiConsumer<JsonNode, Console> print,
            Option... further) {
        super(name, operands, RemoteOptions.with(further), description.split("\n"));
        this.question = question;
        this.print = print;
    }

    /** As {@link #run(Arguments, Console)}, with a client; prints the document. */
    int run(AdminClient admin, RemoteOptions options, Arguments arguments, Console console) throws Exception {
        JsonNode document = question.ask(admin, arguments);
        if (options.json()) {
            console.out().println(document.toPrettyString());
        } else {
            print.accept(document, console);
        }
        return document.has("error") ? 1 : 0;
    }

    @Override
    final int run(Arguments arguments, Console console) throws Exception {
        RemoteOptions options = RemoteOptions.of(arguments);
        try (AdminClient admin = new AdminClient(options)) {
            return run(admin, options, arguments, console);
        }
    }

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
}
