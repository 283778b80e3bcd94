package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;
import org.junit.jupiter.api.Test;

/** The scripts by which shells complete the command are what its commands and options are. */
class CompletionScriptsTest {
    private static final Path FOLDER = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("gateway/app/src/main/resources/dev/isthmus/gateway/cli");

    /** A script that differs is left in the folder target, to be copied from there. */
    private static void check(String file, String expected) throws IOException {
        Files.writeString(Path.of("target").resolve(file), expected);
        assertThat(FOLDER.resolve(file)).hasContent(expected);
    }

    @Test
    void scriptOfBash_hasAllCommandsAndOptions() throws IOException {
        check("completion.bash", bash());
    }

    @Test
    void scriptOfFish_hasAllCommandsAndOptions() throws IOException {
        check("completion.fish", fish());
    }

    private static List<Command> commands() {
        return IsthmusCommand.COMMANDS.stream().filter(each -> !each.hidden()).toList();
    }

    private static String names() {
        return commands().stream().map(Command::name).collect(Collectors.joining(" "));
    }

    /** The values that the operand of a command may have; empty for any. */
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

    private static String bash() {
        StringBuilder values = new StringBuilder();
        StringBuilder options = new StringBuilder();
        for (Command command : commands()) {
            String name = command.name();
            for (Option option : command.options()) {
                String letter = option.getOpt() == null ? "" : "|\"" + name + " -" + option.getOpt() + "\"";
                choice(values, "\"" + name + " --" + option.getLongOpt() + "\"" + letter, words(option));
            }
            choice(values, "\"" + name + " " + name + "\"", operands(command));
            choice(
                    options,
                    name,
                    Arguments.options(command).stream()
                            .map(each -> "--" + each.getLongOpt())
                            .collect(Collectors.joining(" ")));
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
                  [[ ${#COMPREPLY[@]} = 0 && $current == -* ]] || return
                  case ${COMP_WORDS[1]} in
                %s  esac
                }
                complete -o default -F _isthmus isthmus
                """.formatted(names(), values, options);
    }

    private static void choice(StringBuilder to, String place, String words) {
        if (!words.isEmpty()) {
            to.append("    %s) COMPREPLY=($(compgen -W '%s' -- \"$current\")) ;;\n".formatted(place, words));
        }
    }

    private static String fish() {
        StringBuilder out = new StringBuilder();
        for (Command command : commands()) {
            String of = "complete -c isthmus -n '__fish_seen_subcommand_from " + command.name() + "'";
            out.append("complete -c isthmus -n __fish_use_subcommand -f -a " + command.name() + " -d ")
                    .append(quoted(command.description().getFirst()) + "\n");
            for (Option option : Arguments.options(command)) {
                out.append(of + " -l " + option.getLongOpt() + (option.hasArg() ? " -r" : ""))
                        .append(values(words(option)) + " -d ")
                        .append(quoted(String.valueOf(option.getDescription())) + "\n");
            }
            String operands = operands(command);
            out.append(operands.isEmpty() ? "" : of + values(operands) + "\n");
        }
        return out.toString();
    }

    private static String values(String words) {
        return words.isEmpty() ? "" : " -f -a " + quoted(words);
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
