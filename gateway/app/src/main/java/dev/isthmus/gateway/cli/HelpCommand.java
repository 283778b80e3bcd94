package dev.isthmus.gateway.cli;

import java.util.List;
import java.util.function.Supplier;

/** Prints the help, in general or of one command. */
final class HelpCommand extends NamedCommand {
    private final Supplier<List<Command>> all;

    /** @param all every command, this one included */
    HelpCommand(Supplier<List<Command>> all) {
        super("help", List.of("[COMMAND]"), List.of(), "Prints this help, or that of a command: isthmus help serve.");
        this.all = all;
    }

    @Override
    public List<String> operandValues() {
        return Command.names(all.get());
    }

    @Override
    public int run(Arguments arguments, Console console) throws UsageException {
        List<Command> commands = all.get();
        if (arguments.operands() == 0) {
            HelpText.of(commands, console.out());
            return 0;
        }
        Command command = Command.named(commands, arguments.operand(0));
        if (command == null) {
            throw new UsageException(Command.unknown(commands, arguments.operand(0)));
        }
        HelpText.of(command, console.out());
        return 0;
    }
}
