package dev.isthmus.gateway.cli;

import java.util.List;
import org.apache.commons.cli.Option;

/** A subcommand of {@code isthmus}. */
interface Command {

    String name();

    /** The help text; its first line is used in lists. */
    List<String> description();

    /** The names of its operands, in order; all are required. */
    default List<String> operands() {
        return List.of();
    }

    default List<Option> options() {
        return List.of();
    }

    /** Whether the help omits it. */
    default boolean hidden() {
        return false;
    }

    /**
     * Runs the command.
     *
     * @return the exit code
     * @throws UsageException for an invalid argument
     */
    int run(Arguments arguments, Console console) throws Exception;
}
