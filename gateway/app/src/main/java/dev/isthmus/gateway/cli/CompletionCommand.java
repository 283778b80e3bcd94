package dev.isthmus.gateway.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;

/** Prints a script by which a shell completes the command. */
final class CompletionCommand implements Command {
    private final Supplier<List<Command>> all;

    /** @param all every command, this one included */
    CompletionCommand(Supplier<List<Command>> all) {
        this.all = all;
    }

    private List<Command> commands() {
        return all.get().stream().filter(each -> !each.hidden()).toList();
    }

    @Override
    public String name() {
        return "completion";
    }

    @Override
    public List<String> description() {
        return List.of(
                "Prints the completion script of a shell: bash, zsh or fish.",
                "bash: source <(isthmus completion bash)",
                "zsh:  source <(isthmus completion zsh)",
                "fish: isthmus completion fish | source");
    }

    @Override
    public List<String> operands() {
        return List.of("SHELL");
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
        out.println("  case ${COMP_WORDS[1]} in");
        for (Command command : commands()) {
            out.println("    " + command.name() + ") COMPREPLY=($(compgen -W '" + String.join(" ", words(command))
                    + "' -- \"$current\")) ;;");
        }
        out.println("  esac");
        out.println("}");
        out.println("complete -o default -F _isthmus isthmus");
    }

    private void fish(PrintWriter out) {
        for (Command command : commands()) {
            out.println("complete -c isthmus -n __fish_use_subcommand -f -a " + command.name() + " -d "
                    + quoted(command.description().getFirst()));
            for (Option option : Arguments.options(command)) {
                out.println("complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "' -l "
                        + option.getLongOpt() + (option.hasArg() ? " -r" : "") + " -d "
                        + quoted(String.valueOf(option.getDescription())));
            }
        }
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
