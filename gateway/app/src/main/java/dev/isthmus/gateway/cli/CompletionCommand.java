package dev.isthmus.gateway.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;

/** Prints a script by which a shell completes the command. */
final class CompletionCommand extends NamedCommand {
    private final Supplier<List<Command>> all;

    /** @param all every command, this one included */
    CompletionCommand(Supplier<List<Command>> all) {
        super(
                "completion",
                List.of("SHELL"),
                List.of(),
                "Prints the completion script of a shell: bash, zsh or fish.",
                "bash: source <(isthmus completion bash)",
                "zsh:  source <(isthmus completion zsh)",
                "fish: isthmus completion fish | source");
        this.all = all;
    }

    private List<Command> commands() {
        return all.get().stream().filter(each -> !each.hidden()).toList();
    }

    @Override
    public List<String> operandValues() {
        return List.of("bash", "zsh", "fish");
    }

    @Override
    public int run(Arguments arguments, Console console) throws UsageException {
        PrintWriter out = console.out();
        switch (arguments.operand(0)) {
            case "bash" -> bash(out);
            case "zsh" -> {
                out.println("autoload -U +X bashcompinit && bashcompinit");
                bash(out);
            }
            case "fish" -> fish(out);
            default -> throw new UsageException("bash, zsh or fish is expected, got '" + arguments.operand(0) + "'");
        }
        out.flush();
        return 0;
    }

    /** The options of a command with a closed set of values, each with them. */
    private static List<Option> choices(Command command) {
        return command.options().stream()
                .filter(each -> !CommandOptions.words(each).isEmpty())
                .toList();
    }

    private static List<String> words(Command command) {
        List<String> words = new ArrayList<>();
        for (Option option : Arguments.options(command)) {
            words.add("--" + option.getLongOpt());
        }
        return words;
    }

    private void bash(PrintWriter out) {
        out.println("_isthmus() {");
        out.println("  local current=${COMP_WORDS[COMP_CWORD]}");
        out.println("  if [ \"$COMP_CWORD\" = 1 ]; then");
        out.println("    COMPREPLY=($(compgen -W '"
                + commands().stream().map(Command::name).collect(Collectors.joining(" "))
                + " --help --version' -- \"$current\"))");
        out.println("    return");
        out.println("  fi");
        out.println("  case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}\" in");
        for (Command command : commands()) {
            for (Option option : choices(command)) {
                String place = "\"" + command.name() + " --" + option.getLongOpt() + "\"";
                if (option.getOpt() != null) {
                    place += "|\"" + command.name() + " -" + option.getOpt() + "\"";
                }
                bash(place, CommandOptions.words(option), out);
            }
            if (!command.operandValues().isEmpty()) {
                bash("\"" + command.name() + " " + command.name() + "\"", command.operandValues(), out);
            }
        }
        out.println("  esac");
        out.println("  [ ${#COMPREPLY[@]} = 0 ] || return");
        out.println("  case ${COMP_WORDS[1]} in");
        for (Command command : commands()) {
            bash(command.name(), words(command), out);
        }
        out.println("  esac");
        out.println("}");
        out.println("complete -o default -F _isthmus isthmus");
    }

    private static void bash(String place, List<String> values, PrintWriter out) {
        out.println(
                "    " + place + ") COMPREPLY=($(compgen -W '" + String.join(" ", values) + "' -- \"$current\")) ;;");
    }

    private void fish(PrintWriter out) {
        for (Command command : commands()) {
            out.println("complete -c isthmus -n __fish_use_subcommand -f -a " + command.name() + " -d "
                    + quoted(command.description().getFirst()));
            for (Option option : Arguments.options(command)) {
                out.println("complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "' -l "
                        + option.getLongOpt() + (option.hasArg() ? " -r" : "") + values(CommandOptions.words(option))
                        + " -d " + quoted(String.valueOf(option.getDescription())));
            }
            if (!command.operandValues().isEmpty()) {
                out.println("complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "'"
                        + values(command.operandValues()));
            }
        }
    }

    private static String values(List<String> words) {
        return words.isEmpty() ? "" : " -f -a " + quoted(String.join(" ", words));
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
