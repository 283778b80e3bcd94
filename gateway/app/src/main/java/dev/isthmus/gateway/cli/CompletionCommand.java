package dev.isthmus.gateway.cli;

import java.util.List;
import java.util.function.Supplier;
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
        console.out()
                .print(
                        switch (arguments.operand(0)) {
                            case "bash" -> bash();
                            case "zsh" -> "autoload -U +X bashcompinit && bashcompinit\n" + bash();
                            case "fish" -> fish();
                            default ->
                                throw new UsageException(
                                        "bash, zsh or fish is expected, got '" + arguments.operand(0) + "'");
                        });
        console.out().flush();
        return 0;
    }

    private String bash() {
        StringBuilder values = new StringBuilder();
        StringBuilder options = new StringBuilder();
        for (Command command : commands()) {
            String name = command.name();
            for (Option option : command.options()) {
                String letter = option.getOpt() == null ? "" : "|\"" + name + " -" + option.getOpt() + "\"";
                bash(values, "\"" + name + " --" + option.getLongOpt() + "\"" + letter, CommandOptions.words(option));
            }
            bash(values, "\"" + name + " " + name + "\"", command.operandValues());
            bash(
                    options,
                    name,
                    Arguments.options(command).stream()
                            .map(each -> "--" + each.getLongOpt())
                            .toList());
        }
        return """
                _isthmus() {
                  local current=${COMP_WORDS[COMP_CWORD]}
                  if [ "$COMP_CWORD" = 1 ]; then
                    COMPREPLY=($(compgen -W '%s --help --version' -- "$current"))
                    return
                  fi
                  case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
                %s  esac
                  [ ${#COMPREPLY[@]} = 0 ] || return
                  case ${COMP_WORDS[1]} in
                %s  esac
                }
                complete -o default -F _isthmus isthmus
                """.formatted(String.join(" ", Command.names(all.get())), values, options);
    }

    private static void bash(StringBuilder to, String place, List<String> words) {
        if (!words.isEmpty()) {
            to.append("    %s) COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n"
                    .formatted(place, String.join(" ", words)));
        }
    }

    private String fish() {
        StringBuilder out = new StringBuilder();
        for (Command command : commands()) {
            String of = "complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "'";
            out.append("complete -c isthmus -n __fish_use_subcommand -f -a " + command.name() + " -d ")
                    .append(quoted(command.description().getFirst()))
                    .append('\n');
            for (Option option : Arguments.options(command)) {
                out.append(of + " -l " + option.getLongOpt() + (option.hasArg() ? " -r" : ""))
                        .append(values(CommandOptions.words(option)) + " -d ")
                        .append(quoted(String.valueOf(option.getDescription())))
                        .append('\n');
            }
            if (!command.operandValues().isEmpty()) {
                out.append(of + values(command.operandValues())).append('\n');
            }
        }
        return out.toString();
    }

    private static String values(List<String> words) {
        return words.isEmpty() ? "" : " -f -a " + quoted(String.join(" ", words));
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
