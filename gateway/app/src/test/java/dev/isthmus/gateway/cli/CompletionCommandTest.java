package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.apache.commons.cli.Option;
import org.junit.jupiter.api.Test;

/** The files {@code completion.*} have every command and option. What is expected here is what they must contain. */
class CompletionCommandTest {
    private static final List<Command> COMMANDS =
            IsthmusCommand.COMMANDS.stream().filter(each -> !each.hidden()).toList();

    private static String printed(String shell) {
        StringWriter out = new StringWriter();
        assertThat(IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(out)), "completion", shell))
                .isZero();
        return out.toString();
    }

    private static String names() {
        return String.join(" ", COMMANDS.stream().map(Command::name).toList());
    }

    /** The values that the operand of a command may have. */
    private static String operands(Command command) {
        return switch (command.name()) {
            case "completion" -> "bash zsh fish";
            case "help" -> names();
            default -> "";
        };
    }

    /** The words of which an option has one; empty if it may have any value. */
    private static String words(Option option) {
        String name = option.getArgName();
        return name == null || !name.contains("|") ? "" : name.replace('|', ' ');
    }

    @Test
    void bash_hasEveryCommandAndOption() {
        StringBuilder values = new StringBuilder();
        StringBuilder options = new StringBuilder();
        for (Command command : COMMANDS) {
            String name = command.name();
            for (Option option : command.options()) {
                String letter = option.getOpt() == null ? "" : "|\"" + name + " -" + option.getOpt() + "\"";
                choice(values, "\"" + name + " --" + option.getLongOpt() + "\"" + letter, words(option));
            }
            choice(values, "\"" + name + " " + name + "\"", operands(command));
            List<String> all = Arguments.options(command).stream()
                    .map(each -> "--" + each.getLongOpt())
                    .toList();
            choice(options, name, String.join(" ", all));
        }
        assertThat(printed("bash"))
                .contains("'" + names() + " --help --version'")
                .contains("in\n" + values + "  esac")
                .contains("in\n" + options + "  esac");
    }

    private static void choice(StringBuilder to, String place, String words) {
        if (!words.isEmpty()) {
            to.append("    %s) COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n".formatted(place, words));
        }
    }

    @Test
    void fish_hasEveryCommandAndOption() {
        StringBuilder expected = new StringBuilder();
        for (Command command : COMMANDS) {
            String of = "complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "'";
            expected.append("complete -c isthmus -n __fish_use_subcommand -f -a " + command.name() + " -d ")
                    .append(quoted(command.description().getFirst()) + "\n");
            for (Option option : Arguments.options(command)) {
                expected.append(of + " -l " + option.getLongOpt() + (option.hasArg() ? " -r" : ""))
                        .append(values(words(option)) + " -d ")
                        .append(quoted(String.valueOf(option.getDescription())) + "\n");
            }
            String operands = operands(command);
            expected.append(operands.isEmpty() ? "" : of + values(operands) + "\n");
        }
        assertThat(printed("fish")).isEqualTo(expected.toString());
    }

    private static String values(String words) {
        return words.isEmpty() ? "" : " -f -a " + quoted(words);
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
