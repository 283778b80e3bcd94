package dev.isthmus.gateway.cli;

import java.util.List;
import org.apache.commons.cli.Option;

/** A command whose name, help and arguments never change. */
abstract class NamedCommand implements Command {
    private final String name;
    private final List<String> operands;
    private final List<Option> options;
    private final List<String> description;

    /** As the methods of the same names return them. */
    NamedCommand(String name, List<String> operands, List<Option> options, String... description) {
        this.name = name;
        this.operands = operands;
        this.options = options;
        this.description = List.of(description);
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final List<String> description() {
        return description;
    }

    @Override
    public final List<String> operands() {
        return operands;
    }

    @Override
    public final List<Option> options() {
        return options;
    }
}
