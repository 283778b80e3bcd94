package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.commons.cli.Option;

/** A command that asks the admin address of a running gateway for a document and prints it. */
class RemoteCommand extends Command {
    private final String path;
    private final BiConsumer<JsonNode, Console> print;

    /**
     * @param path of the document
     * @param print prints the document for people
     * @param further options of this command alone
     */
    RemoteCommand(
            String name, String description, String path, BiConsumer<JsonNode, Console> print, Option... further) {
        this(name, List.of(), description, path, print, further);
    }

    /** @param operands as in {@link Command#operands} */
    RemoteCommand(
            String name,
            List<String> operands,
            String description,
            String path,
            BiConsumer<JsonNode, Console> print,
            Option... further) {
        super(name, operands, RemoteOptions.with(further), description);
        this.path = path;
        this.print = print;
    }

    /** Asks for the document. */
    JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
        return admin.get(path);
    }

    /** The exit code, once the document is printed. */
    int exitCode(JsonNode document) {
        return 0;
    }

    @Override
    final int run(Arguments arguments, Console console) throws Exception {
        RemoteOptions options = RemoteOptions.of(arguments);
        try (AdminClient admin = new AdminClient(options)) {
            JsonNode document = document(admin, arguments);
            if (options.json()) {
                console.out().println(document.toPrettyString());
            } else {
                print.accept(document, console);
            }
            return exitCode(document);
        } catch (AdminClient.AdminException e) {
            console.err().println("isthmus " + name() + ": " + e.getMessage());
            return 1;
        }
    }
}
