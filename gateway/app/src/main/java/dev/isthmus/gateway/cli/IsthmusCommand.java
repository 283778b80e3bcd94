package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.net.FailureReason;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.help.HelpFormatter;
import org.apache.commons.cli.help.TextHelpAppendable;

/** The command {@code isthmus}; without a subcommand it serves the embedded models. */
public final class IsthmusCommand {
    static final int REFUSED = 2;

    static final List<Command> COMMANDS = List.of(
            new ServeCommand(),
            new TrainingRun(Duration.ofSeconds(10)),
            new LocalProcessCommand(),
            new ValidateCommand(),
            new CheckCommand(),
            new ConfigCommands.Explain(),
            new ConfigCommands.Diff(),
            new ConfigCommands.Schema(),
            new KeyCommand(),
            new ValidateRequestCommand(),
            new InferCommand(),
            new ReplayCommand(),
            FleetCommands.health(),
            FleetCommands.problems(),
            FleetCommands.errors(),
            FleetCommands.gateways(),
            FleetCommands.servers(),
            FleetCommands.models(),
            new TopCommand(),
            new TapCommand(),
            FleetCommands.ramps(),
            FleetCommands.shadows(),
            FleetCommands.drift(),
            FleetCommands.cache(),
            FleetCommands.call(),
            FleetCommands.audit(),
            FleetCommands.logging(),
            new CompletionCommand(),
            new HelpCommand(),
            new VersionCommand());

    private IsthmusCommand() {}

    /** Runs the command of the arguments: see {@code isthmus --help}. */
    public static void main(String[] arguments) {
        int code = run(Console.standard(), arguments);
        if (code != 0) {
            System.exit(code);
        }
    }

    /** Runs the command; returns the exit code. */
    static int run(Console console, String... arguments) {
        if (arguments.length == 0) {
            return new GatewayProcess(List.of(), null, null, false).run(console);
        }
        String first = arguments[0];
        Command command = Command.named(COMMANDS, first);
        if (command != null) {
            return run(command, List.of(arguments).subList(1, arguments.length), console);
        }
        return switch (first) {
            case "-V", "--version" -> {
                console.out().println("isthmus " + Version.current());
                yield 0;
            }
            case "-h", "--help" -> {
                HelpText.of(COMMANDS, console.out());
                yield 0;
            }
            default -> {
                console.err().println("isthmus: " + Command.unknown(COMMANDS, first));
                yield REFUSED;
            }
        };
    }

    private static int run(Command command, List<String> args, Console console) {
        try {
            Arguments arguments = Arguments.of(command, args);
            if (arguments.help()) {
                HelpText.of(command, console.out());
                return 0;
            }
            return command.run(arguments, console);
        } catch (UsageException e) {
            console.err().println("isthmus " + command.name() + ": " + e.getMessage());
            console.err().println(HelpText.usage(command));
            return REFUSED;
        } catch (Exception e) {
            console.err().println("isthmus " + command.name() + ": " + FailureReason.of(e));
            return 1;
        }
    }

    /** Prints what was built from what, and which JVM runs it. */
    static final class VersionCommand extends Command {
        VersionCommand() {
            super(
                    "version",
                    List.of(),
                    List.of(),
                    "Prints version, commit, its time, and the JDKs that built it and run it.");
        }

        @Override
        int run(Arguments arguments, Console console) {
            PrintWriter out = console.out();
            line(out, "version", Version.current());
            line(out, "commit", Version.commit());
            line(out, "time", Version.time());
            line(out, "built by JDK", Version.jdk());
            line(out, "runs on JDK", Runtime.version() + " (" + System.getProperty("java.vendor") + ")");
            return 0;
        }

        private static void line(PrintWriter out, String name, String value) {
            out.printf("%-14s%s%n", name, value);
        }
    }

    /** Prints the help, in general or of one command. */
    static final class HelpCommand extends Command {
        HelpCommand() {
            super(
                    "help",
                    List.of("[COMMAND]"),
                    List.of(),
                    "Prints this help, or that of a command: isthmus help serve.");
        }

        @Override
        int run(Arguments arguments, Console console) throws UsageException {
            if (arguments.operands() == 0) {
                HelpText.of(COMMANDS, console.out());
                return 0;
            }
            Command command = Command.named(COMMANDS, arguments.operand(0));
            if (command == null) {
                throw new UsageException(Command.unknown(COMMANDS, arguments.operand(0)));
            }
            HelpText.of(command, console.out());
            return 0;
        }
    }

    static final class HelpText {
        private static final int WIDTH = 100;
        private static final Option VERSION = Option.builder("V")
                .longOpt("version")
                .desc("Print version information and exit.")
                .get();

        private HelpText() {}

        static void of(Command command, PrintWriter out) {
            out.println(usage(command));
            command.description().forEach(out::println);
            options(Arguments.options(command), out);
        }

        static String usage(Command command) {
            String operands = command.operands().isEmpty() ? "" : " " + String.join(" ", command.operands());
            return "Usage: isthmus " + command.name() + " [OPTIONS]" + operands;
        }

        static void of(List<Command> commands, PrintWriter out) {
            out.println("Usage: isthmus [OPTIONS] [COMMAND]");
            out.println("One ingress in front of every server that speaks the Open Inference Protocol.");
            out.println("Without a command it serves the embedded models.");
            options(List.of(Arguments.HELP, VERSION), out);
            out.println("Commands:");
            commands.stream()
                    .filter(command -> !command.hidden())
                    .forEach(command -> out.printf(
                            "  %-16s %s%n",
                            command.name(), command.description().getFirst()));
        }

        private static void options(List<Option> options, PrintWriter out) {
            TextHelpAppendable text = new TextHelpAppendable(out);
            text.setMaxWidth(WIDTH);
            try {
                HelpFormatter.builder()
                        .setShowSince(false)
                        .setHelpAppendable(text)
                        .get()
                        .printOptions(options);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            out.flush();
        }
    }
}
