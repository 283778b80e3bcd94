package dev.isthmus.gateway.settings;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReferenceResolverTest {
    private static final String UPSTREAM = "upstreams: {t: {protocol: grpc, endpoints: ['10.0.0.1:1']}}\n";

    @TempDir
    Path folder = Path.of(".");

    private final Map<String, String> environment = new HashMap<>(Map.of("PORT", "8123", "EMPTY", ""));
    private final Set<Path> read = new TreeSet<>();

    private GatewayConfig parse(String yaml) throws ConfigException {
        return ConfigLoader.parse(List.of(new ConfigText("f.yaml", yaml, folder)), environment::get, read);
    }

    private List<String> problems(String yaml) {
        ConfigException[] caught = new ConfigException[1];
        assertThatThrownBy(() -> parse(yaml)).isInstanceOfSatisfying(ConfigException.class, e -> caught[0] = e);
        return caught[0].problems();
    }

    private GatewayConfig withHost(String host) throws ConfigException {
        return parse(
                "listeners:\n  - host: " + host + "\n    port: 1\n    access: open\ndefault_upstream: t\n" + UPSTREAM);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            "${HOST}"              | example
            ${HOST}                | example
            '${HOST}'              | example
            ${HOST}.org            | example.org
            a.${HOST}.${HOST}      | a.example.example
            ${HOST:-other}         | example
            ${NONE:-other}         | other
            ${EMPTY:-other}        | other
            ${EMPTY}name           | name
            ${NONE:-}name          | name
            ${NONE:-a-b}           | a-b
            """)
    void variable_isReplaced(String written, String value) throws ConfigException {
        environment.put("HOST", "example");
        assertThat(withHost(written).listeners().getFirst().host()).isEqualTo(value);
    }

    @Test
    void typeIsCheckedAfterwards() throws ConfigException {
        assertThat(parse("listeners:\n  - port: ${PORT}\ndefault_upstream: t\n" + UPSTREAM)
                        .listeners()
                        .getFirst()
                        .port())
                .isEqualTo(8123);
        environment.put("PORT", "eighty");
        assertThat(problems("listeners:\n  - port: ${PORT}\ndefault_upstream: t\n" + UPSTREAM))
                .containsExactly(
                        "f.yaml:2:11: listener: port: a whole number from 0 to 65535 is expected, got '${PORT}'");
    }

    @Test
    void twoDollars_areOneOfTheText() throws ConfigException {
        GatewayConfig config = parse("models: {m: {targets: [{upstream: t, version: '$${PORT} $$ $5'}]}}\n" + UPSTREAM);
        assertThat(requireNonNull(config.models().get("m")).targets().getFirst().version())
                .isEqualTo("${PORT} $$ $5");
        assertThat(config.references()).isEqualTo(ValueReferences.NONE);
    }

    @Test
    void content_ofAFile_isReplaced_withoutTheLineBreakAtItsEnd() throws Exception {
        Files.writeString(folder.resolve("upstream"), "t\r\n");
        Files.writeString(Files.createDirectory(folder.resolve("below")).resolve("port"), "8124");
        GatewayConfig config =
                parse("listeners: [{port: '${file:below/port}'}]\ndefault_upstream: ${file:upstream}\n" + UPSTREAM);
        assertThat(config.defaultUpstream()).isEqualTo("t");
        assertThat(config.listeners().getFirst().port()).isEqualTo(8124);
        assertThat(read).containsExactly(folder.resolve("below/port"), folder.resolve("upstream"));
    }

    @Test
    void value_isNeverStructure() throws IOException {
        environment.put("LIST", "[a, b]");
        environment.put("OBJECT", "{upstream: t}");
        environment.put("NOTHING", "null");
        assertThat(problems("listeners: ${LIST}\nmodels: ${OBJECT}\ndefault_upstream: ${NOTHING}\n" + UPSTREAM))
                .containsExactly(
                        "f.yaml:1:12: listeners: a list is expected, got '${LIST}'",
                        "f.yaml:2:9: models: an object is expected, got '${OBJECT}'",
                        "f.yaml:3:19: default_upstream: no upstream is named '${NOTHING}'");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            ${NONE}           | ${NONE}: the environment variable NONE is not set; ${NONE:-DEFAULT} has a default
            ${a b}            | ${a b}: ${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected, or $${a b} for the text itself
            ${}               | ${}: ${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected
            ${file:}          | ${file:}: ${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected
            ${PORT            | ${: ${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected
            ${A:-${PORT}}     | ${A:-${PORT}: ${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected
            ${file:none}      | none: no such file
            ${file:.}         | is not a file
            ${file:binary}    | binary is not UTF-8
            ${file:large}     | large is larger than the 64KiB that are expected at most
            """)
    void unresolved_isAProblem_withItsPlace(String written, String problem) throws Exception {
        Files.write(folder.resolve("binary"), new byte[] {(byte) 0xFF});
        Files.writeString(folder.resolve("large"), "x".repeat(ReferenceResolver.MAX_FILE + 1));
        List<String> problems = problems(UPSTREAM + "default_upstream: '" + written + "'\n");
        assertThat(problems).hasSize(1);
        assertThat(problems.getFirst()).startsWith("f.yaml:2:19: ").contains(problem);
    }

    @Test
    void unquoted_betweenBraces_isExplained() {
        assertThat(problems("default_upstream: t\nlisteners: [{port: ${PORT}}]\n"))
                .singleElement()
                .asString()
                .startsWith("f.yaml:2:21: malformed YAML: ")
                .endsWith("; between brackets or braces a value with ${...} needs quotes");
    }

    @Test
    void allTogether_areBounded() throws IOException {
        Files.writeString(folder.resolve("large"), "x".repeat(ReferenceResolver.MAX_FILE));
        String many = "'${file:large}${file:large}${file:large}${file:large}'";
        String yaml = UPSTREAM + "models: {m: {upstream: t, aliases: [" + (many + ", ").repeat(13) + "a]}}\n";
        assertThat(problems(yaml)).anyMatch(each -> each.contains("at most 3MiB in place of all references"));
    }

    @Test
    void key_hasNoReference() {
        assertThat(problems("models:\n  ${NAME}: {upstream: t}\n" + UPSTREAM))
                .contains("f.yaml:2:3: a key without a reference is expected, got '${NAME}'");
    }

    @Test
    void anchored_isReplacedEverywhere() throws ConfigException {
        environment.put("TIME", "7s");
        GatewayConfig config = parse("""
                upstreams:
                  a: &a {protocol: grpc, endpoints: ["10.0.0.1:1"], timeout: "${TIME}"}
                  b: {<<: *a, connect_timeout: 1s}
                default_upstream: a
                """);
        assertThat(requireNonNull(config.upstreams().get("b")).timeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(config.document().toString()).doesNotContain("7s");
    }

    @Test
    void objectThatContainsItself_ends() {
        assertThat(problems("&a {models: *a, default_upstream: '${PORT}'}")).isNotEmpty();
    }

    /** Whatever a value is and wherever it stands. */
    @Test
    void value_isNotShown() throws Exception {
        environment.putAll(Map.of(
                "TIME",
                "601000ms",
                "SERVER",
                "secret.example",
                "SHARE",
                "37%",
                "POLICY",
                "round_robin",
                "NUMBER",
                "77"));
        String yaml = """
                listeners: [{port: "${PORT}"}]
                upstream_defaults: {timeout: "${TIME}"}
                upstreams:
                  t:
                    protocol: grpc
                    endpoints: ["${SERVER}:8001", "10.0.0.1:8001"]
                    balance: {policy: "${POLICY}"}
                    retry: {on: [timeout, unsent, "${ON:-lost}"], retries: 1}
                    try_timeout: 3s
                models:
                  m: {upstream: "${UPSTREAM:-t}"}
                  n:
                    targets: [{upstream: t, weight: "${NUMBER}"}, {upstream: t, name: o}]
                    ramp: {target: o, steps: ["${SHARE}", 100%]}
                headers: {forward: [a, "${FORWARDED:-hidden-header}"]}
                """;
        GatewayConfig config = parse(yaml);
        String document = config.document().toString();
        assertThat(document)
                .contains(
                        "port=${PORT}",
                        "timeout=${TIME}",
                        "endpoints=[${SERVER}:8001, 10.0.0.1:8001]",
                        "policy=${POLICY}",
                        "${ON:-lost}",
                        "upstream=${UPSTREAM:-t}",
                        "weight=${NUMBER}",
                        "steps=[${SHARE}, 100%]",
                        "${FORWARDED:-hidden-header}")
                .doesNotContain(
                        "port=8123", "601000ms", "601s", "secret.example", "37%", "weight=77", "hidden-header,");
        assertThat(config.references().masked("8123 in 601s to secret.example:8001, 18123"))
                .isEqualTo("${PORT} in ${TIME} to ${SERVER}:8001, 18123");

        environment.put("TIME", "62000ms");
        environment.put("SERVER", "other.example");
        assertThat(ConfigDiff.of(config, parse(yaml)).changes())
                .containsExactly(
                        "upstream 't': endpoints: [${SERVER}:8001, 10.0.0.1:8001]: another value",
                        "upstream 't': timeout: ${TIME}: another value");
        assertThat(ConfigDiff.of(config, parse(yaml.replace("\"${TIME}\"", "9s")))
                        .changes())
                .contains("upstream 't': timeout: ${TIME} -> 9s");
    }

    @Test
    void referenceInPlaceOfItsValue_isNoChange() throws ConfigException {
        String yaml = "listeners: [{port: 8123}]\ndefault_upstream: t\n" + UPSTREAM;
        assertThat(ConfigDiff.of(parse(yaml), parse(yaml.replace("8123", "\"${PORT}\"")))
                        .isEmpty())
                .isTrue();
    }

    @Test
    void value_isNotInMessages() {
        environment.put("URL", "redis://user:hunter22@cache");
        environment.put("TIME", "90s");
        assertThat(problems("""
                shared: {url: "${URL}"}
                upstreams:
                  t: {protocol: grpc, endpoints: ["10.0.0.1:1"], timeout: 10s, try_timeout: "${TIME}"}
                default_upstream: "${NAME:-nobody}"
                """))
                .hasSize(3)
                .noneMatch(each -> each.contains("hunter22") || each.contains("1m30s") || each.contains("'nobody'"))
                .anyMatch(each -> each.contains("got '${TIME}'"))
                .anyMatch(each -> each.contains("no upstream is named '${NAME:-nobody}'"));
    }

    @Test
    void fixedSections_keepTheirReferences() throws ConfigException {
        String yaml = UPSTREAM + "default_upstream: t\nlisteners: [{port: 1}]\nadmin: {port: ";
        GatewayConfig before = parse(yaml + "\"${PORT}\"}");
        GatewayConfig kept = parse(yaml + "9902}").withFixed(before);
        assertThat(requireNonNull(kept.admin()).port()).isEqualTo(8123);
        assertThat(kept.document().toString()).contains("port=${PORT}");
    }
}
