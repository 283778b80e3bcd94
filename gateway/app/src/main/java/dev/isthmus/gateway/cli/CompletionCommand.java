package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** Prints a script by which a shell completes the command. A test compares the scripts with the commands. */
final class CompletionCommand extends Command {

    CompletionCommand() {
        super(
                "completion",
                List.of("SHELL"),
                List.of(),
                "Prints the completion script of a shell: bash, zsh or fish.",
                "bash: source <(isthmus completion bash)",
                "zsh:  source <(isthmus completion zsh)",
                "fish: isthmus completion fish | source");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException, IOException {
        String shell = arguments.operand(0);
        String before = shell.equals("zsh") ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
        String file = switch (shell) {
            case "bash", "zsh" -> "completion.bash";
            case "fish" -> "completion.fish";
            default -> throw new UsageException("bash, zsh or fish is expected, got '" + shell + "'");
        };
        try (InputStream script = Objects.requireNonNull(CompletionCommand.class.getResourceAsStream(file))) {
            console.out().print(before + new String(script.readAllBytes(), StandardCharsets.UTF_8));
        }
        console.out().flush();
        return 0;
    }
}
