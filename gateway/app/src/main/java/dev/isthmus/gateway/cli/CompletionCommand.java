package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** Prints a script by which a shell completes the command: a file, which a test compares with the commands. */
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
        console.out()
                .print(
                        switch (shell) {
                            case "bash", "fish" -> script(shell);
                            case "zsh" -> "autoload -U +X bashcompinit && bashcompinit\n" + script("bash");
                            default -> throw new UsageException("bash, zsh or fish is expected, got '" + shell + "'");
                        });
        console.out().flush();
        return 0;
    }

    private static String script(String shell) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(CompletionCommand.class.getResourceAsStream("completion." + shell))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
