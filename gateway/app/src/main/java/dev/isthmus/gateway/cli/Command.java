package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.settings.NearestName;
import java.util.List;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** A subcommand of {@code isthmus}. */
abstract class Command {
    private final String name;
    private final List<String> operands;
    private final List<Option> options;
    private final List<String> description;

    /**
     * @param operands their names, in order; those in brackets may be absent, one with ... may be given several times
     * @param description the help text; its first line is used in lists
     */
    Command(String name, List<String> operands, List<Option> options, String... description) {
        this.name = name;
        this.operands = operands;
        this.options = options;
        this.description = List.of(description);
    }

    final String name() {
        return name;
    }

    final List<String> description() {
        return description;
    }

    final List<String> operands() {
        return operands;
    }

    final List<Option> options() {
        return options;
    }

    /** Whether the help omits it. */
    boolean hidden() {
        return false;
    }

    /** The command of this name; null if there is none. */
    static @Nullable Command named(List<Command> commands, String name) {
        return commands.stream()
                .filter(command -> command.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    /** The message for a name that no command has. */
    static String unknown(List<Command> commands, String name) {
        List<String> names = commands.stream()
                .filter(each -> !each.hidden())
                .map(Command::name)
                .toList();
        return "one of " + String.join(", ", names) + " is expected, got '" + name + "'"
                + NearestName.suggestion(name, names) + "; see isthmus help";
    }

    /**
     * @return the exit code
     * @throws UsageException for an invalid argument
     */
    abstract int run(Arguments arguments, Console console) throws Exception;
}
