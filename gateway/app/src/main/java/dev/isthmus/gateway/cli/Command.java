package dev.isthmus.gateway.cli;

import java.util.List;
import org.apache.commons.cli.Option;

/** A subcommand of {@code isthmus}. */
interface Command {

    String name();

    /** What it does, for who reads the help; the first line stands for it in a list. */
    List<String> description();

    /** The names of what it is given besides options, in order; none can be left out. */
    default List<String> operands() {
        return List.of();
    }

    default List<Option> options() {
        return List.of();
    }

    /** Whether the help keeps it to itself. */
    default boolean hidden() {
        return false;
    }

    /**
     * Does it.
     *
     * @return the exit code
     * @throws UsageException when an argument is not what it should be
     */
    int run(Arguments arguments, Console console) throws Exception;
}
