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
import picocli.CommandLine;

class IsthmusCommandTest {
    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return new CommandLine(new IsthmusCommand())
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(arguments);
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
}
