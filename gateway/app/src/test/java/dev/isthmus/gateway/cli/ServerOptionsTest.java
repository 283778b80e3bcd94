package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every command that sends requests has the same options for the token and the certificate, with the same help. */
class ServerOptionsTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    private String described(String command, String option) {
        out.getBuffer().setLength(0);
        assertThat(run("help", command)).isZero();
        String words = out.toString().replaceAll("\\s+", ""); // lines may break within words
        Matcher found = Pattern.compile(option + "<?FILE>?(.*?\\.)(--|-o)").matcher(words);
        assertThat(found.find()).as(words).isTrue();
        return found.group(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "infer",
                "validate-request",
                "health",
                "problems",
                "servers",
                "models",
                "top",
                "ramps",
                "shadows",
                "call",
                "audit",
                "logging"
            })
    void help_isTheSame(String command) {
        assertThat(described(command, "--token-file")).isEqualTo("Filewithatoken,sentas'authorization:BearerTOKEN'.");
        assertThat(described(command, "--ca-file")).isEqualTo(described("replay", "--ca-file"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"infer simple", "health", "validate-request simple --file none"})
    void tokenFile_thatCannotBeRead_isRefused(String command) {
        assertThat(run((command + " --token-file none/token").split(" "))).isEqualTo(2);
        assertThat(err.toString()).contains("--token-file: a file with text is expected");
    }
}
