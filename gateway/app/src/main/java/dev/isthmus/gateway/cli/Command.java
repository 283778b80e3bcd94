package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.settings.NearestName;
import java.util.List;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** A subcommand of {@code isthmus}. */
interface Command {

    String name();

    /** The help text; its first line is used in lists. */
    List<String> description();

    /** The names of its operands, in order; those in brackets may be absent, one with ... may be given several times. */
    default List<String> operands() {
        return List.of();
    }

    /** The values that its first operand may have; empty if it may have any. */
    default List<String> operandValues() {
        return List.of();
    }

    default List<Option> options() {
        return List.of();
    }

    /** Whether the help omits it. */
    default boolean hidden() {
        return false;
    }

    /** The command of this name; null if there is none. */
    static @Nullable Command named(List<Command> commands, String name) {
        return commands.stream()
                .filter(command -> command.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    /** The names of the commands that the help lists. */
    static List<String> names(List<Command> commands) {
        return commands.stream()
                .filter(each -> !each.hidden())
                .map(Command::name)
                .toList();
    }

    /** The message for a name that no command has. */
    static String unknown(List<Command> commands, String name) {
        List<String> names = names(commands);
        return "one of " + String.join(", ", names) + " is expected, got '" + name + "'"
                + NearestName.suggestion(name, names) + "; see isthmus help";
    }

    /**
     * Runs the command.
     *
     * @return the exit code
     * @throws UsageException for an invalid argument
     */
    int run(Arguments arguments, Console console) throws Exception;
}
