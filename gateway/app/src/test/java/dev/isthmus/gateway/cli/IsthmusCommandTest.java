package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IsthmusCommandTest {
    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {upstrems: {u: {protocol: grpc, endpoints: ["a:1"]}}, default_upstream: u}     | upstrems
            {upstrems: {u: {protocol: grpc, endpoints: ["a:1"]}}, models: {m: {upstream: u}}} | upstrems
            {lokal: {embedded_models: true}, default_upstream: local}                      | lokal
            """)
    void misspelledSection_isTheOnlyProblem(String yaml, String key) throws IOException {
        assertThat(run("validate", file(yaml))).isEqualTo(2);
        assertThat(err.toString().lines()).singleElement().asString().contains("unknown key '" + key + "'");
    }

    private int run(String... arguments) {
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
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

    /** The repository cannot be read, but the port is checked first. */
    private int serveTaken(String section, String... options) throws IOException {
        Files.createDirectories(folder.resolve("models/broken/1"));
        Files.writeString(folder.resolve("models/broken/1/model.onnx"), "no model");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = taken.getLocalPort();
            String file = file(section.replace("PORT", Integer.toString(port))
                    + "\nlocal: {model_repository: models}\ndefault_upstream: local");
            List<String> arguments = new ArrayList<>(List.of("serve", "--config", file));
            arguments.addAll(List.of(options));
            int code = run(arguments.toArray(String[]::new));
            assertThat(err.toString()).contains("127.0.0.1:" + port + " is in use");
            return code;
        }
    }

    @Test
    void serve_portTaken_isSaidBeforeModelsAreLoaded() throws IOException {
        assertThat(serveTaken("listeners: [{port: PORT}]")).isEqualTo(2);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("isthmus: listener: 127.0.0.1:")
                .endsWith("choose another port with --port or in 'listeners'");
    }

    @Test
    void serve_adminPortTaken_isSaid() throws IOException {
        assertThat(serveTaken("listeners: [{port: 0}]\nadmin: {port: PORT}")).isEqualTo(2);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("isthmus: admin: 127.0.0.1:")
                .endsWith("choose another port with 'port' in 'admin'");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            no-such-host.invalid | listener: the host 'no-such-host.invalid' cannot be resolved to an address
            192.0.2.1            | listener: 192.0.2.1:0 cannot be listened on: this machine has no address 192.0.2.1
            /tmp/socket          | --host: a host name or IP address is expected, got '/tmp/socket'
            """)
    void serve_hostOfNoUse_isSaid(String host, String message) throws IOException {
        String file = Files.writeString(
                        folder.resolve("open.yaml"),
                        "listeners: [{port: 0, access: open}]\nlocal: {embedded_models: true}\ndefault_upstream: local")
                .toString();
        assertThat(run("serve", "--config", file, "--port", "0", "--host", host))
                .isEqualTo(2);
        assertThat(err.toString().lines()).containsExactly("isthmus: " + message);
    }

    /** The second listener is listened on as it is configured. */
    @Test
    void serve_port_isThatOfTheFirstListener() throws IOException {
        assertThat(serveTaken("listeners: [{port: 1}, {port: PORT}]", "--port", "0"))
                .isEqualTo(2);
    }

    @Test
    void serve_beyondLoopback_needsTheWordOpen() {
        assertThat(run("serve", "--port", "0", "--host", "0.0.0.0")).isEqualTo(2);
        assertThat(err.toString()).contains("--host: host: '0.0.0.0' is not loopback", "access: open");
    }

    @Test
    void key_printsTheKeyAndItsLine() throws Exception {
        assertThat(run("key", "alice")).isZero();
        List<String> lines = out.toString().lines().toList();
        String key = lines.get(0).substring("key:  ".length());
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
        assertThat(lines.get(1)).isEqualTo("line: alice " + HexFormat.of().formatHex(digest));
        assertThat(run("key", "a b")).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            sevre                          | one of serve, validate, check, explain, diff, schema, key, validate-request, infer, replay, health, problems, errors, gateways, servers, models, top, tap, ramps, shadows, drift, cache, call, audit, logging, completion, help, version is expected, got 'sevre' - did you mean 'serve'?; see isthmus help
            serve now                      | isthmus serve: no operand is expected, got now
            infer m -n 0                   | isthmus infer: -n, --count: a number from 1 to 1000000 is expected, got '0'
            serve --port 70000             | -p, --port: a number from 0 to 65535 is expected, got '70000'
            serve --port x                 | --port: a number from 0 to 65535 is expected, got 'x'
            serve --port                   | isthmus serve: -p, --port: N is expected after it
            serve --config                 | isthmus serve: -c, --config: FILE is expected after it
            serve -c --port 1              | isthmus serve: -c, --config: FILE is expected after it
            foo                            | version is expected, got 'foo'; see isthmus help
            serve --prot 1                 | isthmus serve: unknown option '--prot' - did you mean '--port'?
            serve --xyzzy                  | isthmus serve: unknown option '--xyzzy'
            help sevre                     | got 'sevre' - did you mean 'serve'?; see isthmus help
            help serve now                 | isthmus help: [COMMAND] is expected, got serve now
            'serve --host '                | isthmus serve: --host: HOST is expected, got ''
            diff a.yaml                    | isthmus diff: OLD NEW is expected, got a.yaml
            validate                       | isthmus validate: FILE... is expected, got none
            explain f.yaml m --header x    | --header: NAME=VALUE is expected, got 'x'
            """)
    void arguments_wrong_areNamedWithWhatIsExpected(String line, String message) {
        assertThat(run(line.split(" ", -1))).isEqualTo(2);
        assertThat(err.toString()).contains(message);
    }

    @Test
    void help_namesCommandsAndOptions_butNotTheTraining() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString())
                .contains("Usage: isthmus", "--version", "serve", "Checks a configuration file; with --probe")
                .doesNotContain("train");
    }

    @Test
    void help_isTheFileThatTheStartScriptPrintsBeforeItBuilds() throws IOException {
        Path root = Path.of(System.getProperty("isthmus.root", ".."));
        assertThat(run("help")).isZero();
        assertThat(root.resolve("gateway/app/src/main/dist/help.txt")).hasContent(out.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"serve -h", "serve --help", "help serve"})
    void help_ofServe_namesItsOptions(String line) {
        assertThat(run(line.split(" "))).isZero();
        assertThat(out.toString())
                .contains("Usage: isthmus serve [OPTIONS]", "-c, --config <FILE>", "--no-watch", "SIGHUP still does");
    }

    @Test
    void version_isPrinted() {
        assertThat(run("-V")).isZero();
        assertThat(out.toString()).startsWith("isthmus ");
    }

    @Test
    void version_saysWhatItIsAndWhatRunsIt() {
        assertThat(run("version")).isZero();
        assertThat(out.toString().lines())
                .satisfiesExactly(
                        line -> assertThat(line).matches("version +\\S+"),
                        line -> assertThat(line).matches("commit +\\S+"),
                        line -> assertThat(line).matches("time +\\S+"),
                        line -> assertThat(line).matches("built by JDK +\\S+"),
                        line -> assertThat(line).startsWith("runs on JDK   " + Runtime.version() + " ("));
    }
}
