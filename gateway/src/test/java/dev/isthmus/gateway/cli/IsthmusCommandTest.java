package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IsthmusCommandTest {
    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err)), arguments);
    }

    private String file(String yaml) throws IOException {
        return Files.writeString(folder.resolve("isthmus.yaml"), yaml).toString();
    }

    @Test
    void validate_good_isSaid() throws IOException {
        String file = file("{local: {embedded_models: true}, default_upstream: local}");
        assertThat(run("validate", file)).isZero();
        assertThat(out.toString()).isEqualToIgnoringNewLines(file + ": good");
    }

    @Test
    void validate_bad_tellsEveryProblem() throws IOException {
        String file = file("{upstream: {}, modles: {}}");
        assertThat(run("validate", file)).isEqualTo(2);
        assertThat(err.toString())
                .contains(file + ":1:2: unknown key 'upstream' in the configuration - did you mean 'upstreams'?")
                .contains(file + ":1:16: unknown key 'modles' in the configuration - did you mean 'models'?");
    }

    @Test
    void serve_badConfig_doesNotStart() {
        assertThat(run("serve", "--config", "none.yaml")).isEqualTo(2);
        assertThat(err.toString()).contains("none.yaml: cannot be read");
    }

    @Test
    void serve_portTaken_isSaid() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThat(run("serve", "--port", Integer.toString(taken.getLocalPort())))
                    .isEqualTo(2);
        }
        assertThat(err.toString()).contains("Address already in use");
    }

    @Test
    void option_unknown_isRefused() {
        assertThat(run("serve", "--prot", "1")).isEqualTo(2);
        assertThat(err.toString()).contains("--prot");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            sevre                          | one of serve, validate, explain, diff, schema is expected, got 'sevre'
            serve now                      | isthmus serve: no operand is expected, got now
            serve --port 70000             | --port: a number from 0 to 65535 is expected, got '70000'
            serve --port x                 | --port: a number from 0 to 65535 is expected, got 'x'
            serve --port                   | Missing argument for option: p
            diff a.yaml                    | isthmus diff: OLD NEW is expected, got a.yaml
            validate                       | isthmus validate: FILE is expected, got none
            explain f.yaml m --header x    | --header: NAME=VALUE is expected, got 'x'
            """)
    void arguments_wrong_areNamedWithWhatIsExpected(String line, String told) {
        assertThat(run(line.split(" ", -1))).isEqualTo(2);
        assertThat(err.toString()).contains(told);
    }

    @Test
    void help_namesCommandsAndOptions_butNotTheTraining() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString())
                .contains("Usage: isthmus", "--version", "serve", "Checks a configuration file.")
                .doesNotContain("train");
    }

    @Test
    void help_ofServe_namesItsOptions() {
        assertThat(run("serve", "-h")).isZero();
        assertThat(out.toString())
                .contains("Usage: isthmus serve [OPTIONS]", "-c, --config <FILE>", "--no-watch", "SIGHUP still does");
    }

    @Test
    void version_isPrinted() {
        assertThat(run("-V")).isZero();
        assertThat(out.toString()).startsWith("isthmus ");
    }
}
