package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.cli.Option;

/** A command that asks the admin address of a running gateway for a document and prints it. */
abstract class RemoteCommand implements Command {

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
    abstract JsonNode document(AdminClient admin, Arguments arguments) throws Exception;

    /** Prints the document for people; returns the exit code. */
    abstract int print(JsonNode document, Console console);

    /** The exit code where the document is printed as it is. */
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
                return exitCode(document);
            }
            return print(document, console);
        } catch (AdminClient.AdminException e) {
            console.err().println("isthmus " + name() + ": " + e.getMessage());
            return 1;
        }
    }
}
