package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.commons.cli.Option;

/** A command that asks the admin address of a running gateway for a document and prints it. */
class RemoteCommand implements Command {
    private final String name;
    private final String description;
    private final String path;
    private final BiConsumer<JsonNode, Console> print;

    /**
     * @param path of the document
     * @param print prints the document for people
     */
    RemoteCommand(String name, String description, String path, BiConsumer<JsonNode, Console> print) {
        this.name = name;
        this.description = description;
        this.path = path;
        this.print = print;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final List<String> description() {
        return List.of(description);
    }

    @Override
    public final List<Option> options() {
        List<Option> all = new ArrayList<>(RemoteOptions.ALL);
        all.addAll(furtherOptions());
        return all;
    }

    /** Options of this command alone. */
    List<Option> furtherOptions() {
        return List.of();
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
    public final int run(Arguments arguments, Console console) throws Exception {
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
            console.err().println("isthmus " + name + ": " + e.getMessage());
            return 1;
        }
    }
}
