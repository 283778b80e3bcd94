package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.ConfigSchema;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigCommandsTest {
    private static final String FLEET = """
            upstreams:
              t: {protocol: grpc, endpoints: ["a:1"], try_timeout: 2s}
              m: {protocol: rest, endpoints: ["10.0.0.1:1"], adaptive_concurrency: {max: 64}, hedging: {},
                queue: {weights: {alice: 4}, group_weights: {batch: 2}, shares: {bert: 3}, priority_levels: 3}}
            local: {embedded_models: true}
            models:
              resnet:
                targets:
                  - {name: stable, upstream: t, model: resnet50, weight: 3}
                  - {name: canary, upstream: m, version: "9", weight: 1}
                aliases: [resnet-prod]
                versions: {good: "3"}
                default_version: good
                rules:
                  - {headers: {x-canary: "yes"}, parameters: {tier: "gold*"}, target: canary}
                  - {headers: {x-canary: "*"}, target: stable}
                sticky: {header: x-user}
                shadow: [{upstream: m, model: next, sample: 10%, compare: true}]
                ramp: {target: canary}
                fallback: {upstream: local, model: digits}
                rates: [{header: x-api-key, requests_per_second: 100, bytes_per_second: 10MiB}]
                batching: {max_batch_size: 8}
                timeout: 10s
              "llm-*": {upstream: t}
            default_upstream: m
            """;

    @TempDir
    Path folder = Path.of(".");

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return IsthmusCommand.run(new Console(new PrintWriter(out), new PrintWriter(err), () -> false), arguments);
    }

    private String file(String name, String yaml) throws IOException {
        return Files.writeString(folder.resolve(name), yaml).toString();
    }

    private List<String> explained(String... arguments) throws IOException {
        String[] all = new String[arguments.length + 2];
        all[0] = "explain";
        all[1] = file("f.yaml", FLEET);
        System.arraycopy(arguments, 0, all, 2, arguments.length);
        assertThat(run(all)).isZero();
        return out.toString().lines().toList();
    }

    @Test
    void schema_isPrinted() {
        assertThat(run("schema")).isZero();
        assertThat(out.toString()).isEqualTo(ConfigSchema.text());
    }

    @Test
    void explain_asJson_hasTargetsAndText() throws IOException {
        assertThat(run("explain", file("f.yaml", FLEET), "resnet", "--version", "9", "-o", "json"))
                .isZero();
        JsonNode document = new ObjectMapper().readTree(out.toString());
        assertThat(document.path("known").asBoolean()).isTrue();
        assertThat(document.path("targets").findValuesAsText("name")).contains("canary");
        JsonNode canary = document.path("targets").get(document.path("targets").size() - 1);
        assertThat(canary.path("upstream").asText()).isEqualTo("m");
        assertThat(canary.path("model").asText()).isEqualTo("resnet");
        assertThat(canary.path("version").asText()).isEqualTo("9");
        assertThat(canary.path("share").isNumber()).isTrue();
        assertThat(document.path("explanation").get(0).asText()).isEqualTo("model 'resnet' is configured by this name");
    }

    @Test
    void explain_saysWhatIsCached() throws IOException {
        String file = file("f.yaml", """
                local: {embedded_models: true}
                models:
                  a: {upstream: local, cache: {ttl: 30s, max_bytes: 8MiB, parameters: [tier], headers: [X-Tenant]}}
                  b: {upstream: local, cache: {ttl: 0s, max_request: 2KiB}}
                  c: {upstream: local, cache: {}, deterministic: false}
                """);
        for (String model : List.of("a", "b", "c")) {
            assertThat(run("explain", file, model)).isZero();
        }
        assertThat(out.toString().lines().filter(line -> line.startsWith("cache: ")))
                .containsExactly(
                        "cache: responses of up to 1MiB are kept for 30s in 8MiB; equal requests under way are sent once;"
                                + " equal are requests of up to 1MiB with the same inputs, requested outputs, parameters"
                                + " tier, forwarded headers, header x-tenant",
                        "cache: no response is kept; equal requests under way are sent once; equal are requests of up to"
                                + " 2KiB with the same inputs, requested outputs, all parameters, forwarded headers",
                        "cache: not used, since the model is declared not to be deterministic");
        assertThat(out.toString())
                .contains("  cache_purge: removes cached responses of models that are loaded or unloaded");
    }

    @Test
    void valuesFromElsewhere_areNotPrinted() throws IOException {
        Files.writeString(folder.resolve("server"), "hidden.example:8001\n");
        Files.writeString(folder.resolve("model"), "hidden-model");
        String yaml = FLEET.replace("\"a:1\"", "'${file:server}'").replace("model: resnet50", "model: '${file:model}'");
        String file = file("f.yaml", yaml);
        assertThat(run("explain", file, "resnet", "--as", "someone")).isZero();
        assertThat(run("explain", file, "resnet", "-o", "json")).isZero();
        assertThat(run("validate", file)).isZero();
        assertThat(out.toString())
                .contains("over ${file:server}", "model '${file:model}'")
                .doesNotContain("hidden");

        assertThat(run("diff", file, file("g.yaml", yaml.replace("'${file:server}'", "\"b:1\""))))
                .isEqualTo(1);
        assertThat(out.toString())
                .contains("upstream 't': endpoints: [${file:server}] -> [b:1]")
                .doesNotContain("hidden");
    }

    @Test
    void folder_isComparedAsOneConfiguration() throws IOException {
        Files.createDirectory(folder.resolve("parts"));
        file("parts/b.yaml", "models: {more: {upstream: m}}\n");
        String fleet = file("parts/a.yaml", FLEET);
        assertThat(run("diff", fleet, folder.resolve("parts").toString())).isEqualTo(1);
        assertThat(out.toString()).isEqualTo("model 'more': added\n");
    }

    @Test
    void explain_ofAnUnknownModel_asJson() throws IOException {
        String file = file("f.yaml", "{local: {embedded_models: true}, models: {m: {upstream: local}}}");
        assertThat(run("explain", file, "other", "-o", "json")).isEqualTo(1);
        JsonNode document = new ObjectMapper().readTree(out.toString());
        assertThat(document.path("known").asBoolean(true)).isFalse();
        assertThat(document.path("explanation").get(0).asText()).isEqualTo("model 'other' is unknown: 404");
    }

    @Test
    void explain_saysAllThatApplies() throws IOException {
        assertThat(explained("resnet"))
                .containsExactly(
                        "model 'resnet' is configured by this name",
                        "version: the client names none; 'default_version' is 'good', a label of version 3",
                        "rule: header x-canary is 'yes' and parameter tier is 'gold*' -> 'canary': does not match",
                        "rule: header x-canary is '*' -> 'stable': does not match",
                        "target 'stable': 75% of these calls -> upstream 't', model 'resnet50', version 3",
                        "target 'canary': 25% of these calls -> upstream 'm', model 'resnet', version 9",
                        "sticky: by header x-user; this call has none, so the target is chosen at random",
                        "ramp: 'canary' gets 1%, 5%, 25%, 50%, 100% in turn, each for at least 5m and 100 calls;"
                                + " back to 0 if more than 1% of its calls fail, or they take 1.5 times as long as those of the"
                                + " other targets",
                        "shadow 'm': 10% of the calls copied -> upstream 'm', model 'next', version 3, for at most 5s,"
                                + " responses compared",
                        "fallback: if the upstream fails -> upstream 'local', model 'digits', version 3",
                        "rate: 100 requests and 10MiB per second for each value of header x-api-key, in bursts of up to"
                                + " 1s; more are rejected with 429",
                        "rates: counted by each gateway alone",
                        "batching: requests are joined while others are under way, for at most 1000 microseconds, up to"
                                + " 8 rows and 1MiB; known only at run time: whether the server answers a row for each"
                                + " row, and what it gains",
                        "timeout: 10s, unless the client sets a deadline",
                        "upstream 't': grpc, least_request over a:1",
                        "  timeout: 60s in total, 2s per attempt",
                        "  retries: 1 on another server, on unsent, unavailable; at most 20% of the calls, bodies of at"
                                + " most 4MiB",
                        "  outliers: 5 consecutive failures or 50% of failed calls in 10s or 1.9 standard deviations"
                                + " from the other servers eject a server for 5s, at most 50% of them at once",
                        "  breaker: never opens; at most 1000 concurrent calls",
                        "  known only at run time: its addresses (DNS), their health, its model versions",
                        "upstream 'm': rest, least_request over 10.0.0.1:1",
                        "  timeout: 60s in total; a server that hangs takes all of it, as there is no"
                                + " 'try_timeout'",
                        "  retries: 1 on another server, on unsent, unavailable; at most 20% of the calls, bodies of at"
                                + " most 4MiB",
                        "  outliers: 5 consecutive failures or 50% of failed calls in 10s or 1.9 standard deviations"
                                + " from the other servers eject a server for 5s, at most 50% of them at once",
                        "  breaker: never opens; at most 1000 concurrent calls",
                        "  hedging: to a second server after 95% of the model's latency, at least 1ms; at most 5% of the"
                                + " calls",
                        "  adaptive concurrency: from 1 to 64 concurrent calls of each server, as many as its latency"
                                + " allows",
                        "  queue: at these limits up to 100 calls wait, 50 of one caller, for at most 1s; callers take"
                                + " turns by their weights (alice=4, group batch=2), models by their shares (bert=3), a"
                                + " caller's calls by priority, 3 levels; 10% is kept for callers with few calls",
                        "  known only at run time: its addresses, their health, its model versions, the limits of its"
                                + " servers",
                        "upstream 'local': in-process, one thread per core, 256 calls may wait, all models loaded,"
                                + " on cpu",
                        "gateway: bodies of at most 64MiB, 10000 concurrent calls; more are rejected with 503",
                        "layers, the outermost first:",
                        "  request_ids: adds x-request-id to the response and the request",
                        "  generation: keeps this configuration until the call has ended",
                        "  ended_calls: records it if it fails or changes a server, and shows it to pages that watch",
                        "  caller_metrics: counts the call for its caller",
                        "  call_metrics: counts the call for its model",
                        "  error_texts: hides servers' texts, but for those about the request",
                        "  authorization: lets inferences pass",
                        "  admission: takes one of 10000 permits",
                        "  routing: finds the route of the model",
                        "  rate_limits: counts it on its rates",
                        "  target_metrics: counts the outcome for the target",
                        "  ramps: reports outcome and latency to the ramp",
                        "  validation: counts and logs requests that do not match the metadata of the model, and lets"
                                + " them pass");
    }

    @Test
    void explain_ruleThatMatches_takesAll() throws IOException {
        assertThat(explained("resnet-prod", "--header", "X-Canary=yes", "--parameter", "tier=gold-1"))
                .contains(
                        "model 'resnet-prod' is an alias of model 'resnet'",
                        "rule: header x-canary is 'yes' and parameter tier is 'gold*' -> 'canary': matches",
                        "rule: header x-canary is '*' -> 'stable': matches, but an earlier rule applies",
                        "target 'stable': 0% of these calls -> upstream 't', model 'resnet50', version 3",
                        "target 'canary': 100% of these calls -> upstream 'm', model 'resnet', version 9",
                        "sticky: by header x-user; this call has none, so only the rule applies")
                .noneMatch(line -> line.contains("at random"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            good | version: the client asks for 'good', a label of version 3
            7    | version: the client asks for '7'
            """)
    void explain_versionThatTheClientAsksFor(String version, String line) throws IOException {
        assertThat(explained("resnet", "--version", version)).contains(line);
    }

    @Test
    void explain_stickyKey_isNamed() throws IOException {
        assertThat(explained("resnet", "--header", "x-user=ann"))
                .contains("sticky: by header x-user; the hash of 'ann' selects the target and the server, always"
                        + " the same: 'stable' by the configured weights, which the ramp changes");
        assertThat(explained("resnet", "--header", "x-user=ann", "--header", "x-canary=1"))
                .contains("sticky: by header x-user; the hash of 'ann' selects the server, always the same; the rule"
                        + " selects the target");
    }

    @Test
    void explain_sequence_comesBeforeTheStickyKey() throws IOException {
        assertThat(explained("resnet", "--header", "x-user=ann", "--parameter", "sequence_id=7"))
                .contains("sequence: the hash of '7' selects the target and the server when it starts, always the same:"
                        + " 'stable' by the configured weights, which the ramp changes; it stays there")
                .noneMatch(line -> line.startsWith("sticky"));
        assertThat(explained("resnet", "--parameter", "sequence_id=0"))
                .contains("sticky: by header x-user; this call has none, so the target is chosen at random");
    }

    @Test
    void explain_versionThatNoTargetServes() throws IOException {
        String file = file("v.yaml", """
                upstreams: {u: {protocol: grpc, endpoints: ["a:1"]}}
                models: {m: {targets: [{upstream: u, version: "1"}, {name: other, upstream: u, version: "2"}]}}
                """);
        assertThat(run("explain", file, "m", "--version", "3")).isZero();
        assertThat(out.toString())
                .contains("version: the client asks for '3'", "no target serves version '3': 404")
                .doesNotContain("of these calls");
    }

    @Test
    void explain_namedVersion_goesToTheTargetsThatServeIt() throws IOException {
        assertThat(explained("resnet", "--version", "9"))
                .contains(
                        "target 'canary': 100% of these calls -> upstream 'm', model 'resnet', version 9",
                        "target 'stable': 0% of these calls -> upstream 't', model 'resnet50', version 9");
        assertThat(explained("resnet", "--version", "5", "--header", "x-canary=yes", "--parameter", "tier=gold"))
                .contains(
                        "target 'canary': none of these calls, because it has version 9",
                        "target 'stable': 100% of these calls -> upstream 't', model 'resnet50', version 5",
                        "rule: header x-canary is 'yes' and parameter tier is 'gold*' -> 'canary': matches, but its"
                                + " target serves another version",
                        "rule: header x-canary is '*' -> 'stable': matches");
    }

    @Test
    void explain_pattern_keepsTheRequestedName() throws IOException {
        assertThat(explained("llm-7b"))
                .contains(
                        "model 'llm-7b' is matched by the pattern 'llm-*'",
                        "version: the client names none; the server chooses, usually its latest",
                        "target 't': 100% of these calls -> upstream 't', model 'llm-7b', the version that the server"
                                + " chooses");
    }

    @Test
    void explain_modelThatIsNotListed_goesToTheDefault() throws IOException {
        assertThat(explained("other")).contains("model 'other' is not configured", "default upstream 'm' serves it");
    }

    @Test
    void explain_saysWhoCountsRates() throws IOException {
        String file = file("f.yaml", """
                local: {embedded_models: true}
                shared: {cluster: ['a:1', 'b:1'], on_failure: closed, recovery: 20s}
                models: {m: {upstream: local, rates: [{requests_per_second: 1}]}}
                """);
        assertThat(run("explain", file, "m")).isZero();
        assertThat(out.toString())
                .contains(
                        "rates: counted by all gateways together, in Redis Cluster at a:1, b:1; if it fails or is slow,"
                                + " calls are rejected with 503, until it has answered in time for 20s\n");
    }

    @Test
    void explain_pattern_comesBeforeDiscovery() throws IOException {
        String file = file("d.yaml", FLEET.replace("try_timeout", "discover: true, try_timeout"));
        assertThat(run("explain", file, "llm-7b")).isZero();
        assertThat(out.toString())
                .contains("model 'llm-7b' is matched by the pattern 'llm-*'")
                .doesNotContain("repository index");
    }

    @Test
    void explain_discovery_comesBeforeTheDefault() throws IOException {
        String file = file("d.yaml", FLEET.replace("try_timeout", "discover: true, try_timeout"));
        assertThat(run("explain", file, "other")).isZero();
        assertThat(out.toString())
                .contains(
                        "discovery: the first of these upstreams whose repository index lists it serves it: t",
                        "otherwise default upstream 'm' serves it");
    }

    @Test
    void explain_inferenceServices_comeBeforePatterns() throws IOException {
        String file = file("k.yaml", FLEET + "discover: {kserve: [{namespace: ml}, {namespace: spot}]}\n");
        String discovery =
                "discovery: an InferenceService with this name serves it, if one of these namespaces has it: ml, spot";
        assertThat(run("explain", file, "llm-7b")).isZero();
        assertThat(out.toString()).contains(discovery, "model 'llm-7b' is matched by the pattern 'llm-*'");
        assertThat(run("explain", file, "other")).isZero();
        assertThat(out.toString()).contains("otherwise default upstream 'm' serves it");
        String alone = file("l.yaml", "discover: {kserve: [{namespace: ml}]}\n");
        assertThat(run("explain", alone, "other")).isZero();
        assertThat(out.toString()).contains("otherwise it is unknown: 404");
    }

    @Test
    void explain_unknownModel() throws IOException {
        String file = file("f.yaml", FLEET.replace("default_upstream: m", ""));
        assertThat(run("explain", file, "other")).isEqualTo(1);
        assertThat(out.toString()).isEqualToIgnoringNewLines("model 'other' is unknown: 404");
    }

    @Test
    void diff_ofEqualFiles_isEmpty() throws IOException {
        String same = FLEET.replace("try_timeout: 2s", "timeout: 1m, try_timeout: 2000ms");
        assertThat(run("diff", file("a.yaml", FLEET), file("b.yaml", same))).isZero();
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void diff_tellsEveryChange() throws IOException {
        String before = file("a.yaml", FLEET);
        String after = file(
                "b.yaml",
                FLEET.replace("weight: 3", "weight: 2")
                                .replace("\"llm-*\": {upstream: t}", "bert: {upstream: t}")
                                .replace("try_timeout: 2s", "breaker: {window: 50}")
                                .replace("default_upstream: m", "default_upstream: t")
                        + "admin: {}\nlisteners: [{port: 9}]\nlimits: {max_body_size: 1MiB}\n");
        assertThat(run("diff", before, after)).isEqualTo(1);
        assertThat(out.toString().lines())
                .containsExactly(
                        "listeners: '127.0.0.1:8080': removed",
                        "listeners: '127.0.0.1:9': added",
                        "limits: max_body_size: 64MiB -> 1MiB",
                        "upstream 't': try_timeout: 2s -> none",
                        "upstream 't': breaker: window: 100 -> 50",
                        "model 'bert': added",
                        "model 'llm-*': removed",
                        "model 'resnet': targets: 'stable': weight: 3 -> 2",
                        "default_upstream: m -> t",
                        "on reload: listener 127.0.0.1:8080: accepts no more connections; open ones go on",
                        "on reload: listener 127.0.0.1:9: binds port 9",
                        "on reload: upstream 'm': its connections close after its last call; health, ejections and the"
                                + " circuit breaker of its servers begin anew",
                        "on reload: upstream 't': its connections close after its last call; health, ejections and the"
                                + " circuit breaker of its servers begin anew",
                        "only after a restart: admin: none -> {host: 127.0.0.1, port: 9901, tokens: {}, session: {idle: 1h, max_age: 12h}, allowed_hosts: []}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"validate F", "explain F m", "diff F F"})
    void fileThatIsWrong_isRefused(String command) throws IOException {
        String file = file("f.yaml", "modles: {}");
        assertThat(run(command.replace("F", file).split(" ", -1))).isEqualTo(2);
        assertThat(err.toString()).contains(file + ":1:1: unknown key 'modles'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"validate", "explain", "diff", "schema"})
    void help_isShown(String command) {
        assertThat(run(command, "--help")).isZero();
        assertThat(out.toString()).contains("Usage: isthmus " + command);
    }

    @Test
    void explain_asACaller_namesTheRule() throws IOException {
        String yaml = FLEET + """
                authentication: {client_certificates: {}}
                access:
                  rules:
                    - {name: scientists, who: {groups: [science]}, may: [infer], models: ["res*"]}
                """;
        assertThat(run("explain", file("a.yaml", yaml), "resnet", "--as", "alice", "--group", "science"))
                .isZero();
        assertThat(out.toString())
                .contains("caller: 'alice', identified by jwt, groups [science], on listener 127.0.0.1:8080")
                .contains("may infer: yes, by rule 'scientists'")
                .contains("may load: no: no rule allows it");
    }
}
