package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.List;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.help.HelpFormatter;
import org.apache.commons.cli.help.TextHelpAppendable;

/** The help texts. */
final class HelpText {
    private static final int WIDTH = 100;
    private static final Option VERSION = Option.builder("V")
            .longOpt("version")
            .desc("Print version information and exit.")
            .get();

    private HelpText() {}

    /** The help of one command. */
    static void of(Command command, PrintWriter out) {
        out.println(usage(command));
        command.description().forEach(out::println);
        options(Arguments.options(command), out);
    }

    /** The usage line of a command. */
    static String usage(Command command) {
        String operands = command.operands().isEmpty() ? "" : " " + String.join(" ", command.operands());
        return "Usage: isthmus " + command.name() + " [OPTIONS]" + operands;
    }

    /** The general help. */
    static void of(List<Command> commands, PrintWriter out) {
        out.println("Usage: isthmus [OPTIONS] [COMMAND]");
        out.println("One ingress in front of every server that speaks the Open Inference Protocol.");
        out.println("Without a command it serves the embedded models.");
        options(List.of(Arguments.HELP, VERSION), out);
        out.println("Commands:");
        commands.stream()
                .filter(command -> !command.hidden())
                .forEach(command -> out.printf(
                        "  %-16s %s%n", command.name(), command.description().getFirst()));
        out.flush();
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
