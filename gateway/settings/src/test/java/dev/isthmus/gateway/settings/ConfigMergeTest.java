package dev.isthmus.gateway.settings;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigMergeTest {
    private static final String SERVERS = "upstreams: {t: {protocol: grpc, endpoints: ['10.0.0.1:1']}}\n";

    @TempDir
    Path folder = Path.of(".");

    private Path file(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(ConfigLoader.folder(file));
        return Files.writeString(file, text);
    }

    private static List<String> problems(Path... paths) {
        ConfigException[] caught = new ConfigException[1];
        assertThatThrownBy(() -> ConfigLoader.load(paths))
                .isInstanceOfSatisfying(ConfigException.class, e -> caught[0] = e);
        return caught[0].problems();
    }

    @Test
    void objects_areMergedByKey() throws Exception {
        Path one = file("one.yaml", SERVERS + "limits: {max_hops: 3}\nmodels:\n");
        Path two = file("two.yaml", """
                upstreams: {t: {timeout: 5s}, r: {protocol: rest, endpoints: ["10.0.0.2:1"]}}
                models: {m: {upstream: t}}
                limits: {max_requests: 7}
                """);
        GatewayConfig config = ConfigLoader.load(one, two);
        assertThat(config.upstreams()).containsOnlyKeys("t", "r");
        assertThat(requireNonNull(config.upstreams().get("t")).timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(config.models()).containsOnlyKeys("m");
        assertThat(config.limits().maxHops()).isEqualTo(3);
        assertThat(config.limits().maxRequests()).isEqualTo(7);
        assertThat(ConfigLoader.load(two, one)).isEqualTo(config);
    }

    @Test
    void keySetTwice_isAProblem_withBothPlaces() throws IOException {
        Path one = file("one.yaml", SERVERS + "limits:\n  max_hops: 3\nmodels: {m: {upstream: t}}\n");
        Path two = file("two.yaml", "# first\nlimits: {max_hops: 3}\nmodels: {m: {upstream: t}}\ndefault_upstream: t");
        assertThat(problems(one, two))
                .containsExactly(
                        two + ":2:20: 'limits: max_hops' is set in one file only; it is set at " + one
                                + ":3:13 already",
                        two + ":3:24: 'models: m: upstream' is set in one file only; it is set at " + one
                                + ":4:24 already");
    }

    @Test
    void list_standsInOneFile() throws IOException {
        Path one = file("one.yaml", SERVERS + "listeners: [{port: 1}]\ndefault_upstream: t\n");
        Path two = file("two.yaml", "listeners: [{port: 2}]\n");
        assertThat(problems(one, two))
                .containsExactly(
                        two + ":1:12: 'listeners' is set in one file only; it is set at " + one + ":2:12 already");
    }

    @Test
    void problems_nameTheirFiles_inTheOrderOfTheFiles() throws IOException {
        Path one = file("z.yaml", SERVERS + "default_upstream: other\n");
        Path two = file("a.yaml", "limits: {max_hops: 0}\nmodles: {}\n");
        assertThat(problems(one, two))
                .satisfiesExactly(
                        first -> assertThat(first).startsWith(one + ":2:19: default_upstream: no upstream"),
                        second -> assertThat(second).startsWith(two + ":1:20: limits: max_hops: "),
                        third -> assertThat(third)
                                .startsWith(two + ":2:1: unknown key 'modles'")
                                .endsWith("did you mean 'models'?"));
    }

    @Test
    void malformedFiles_areAllReported() throws IOException {
        Path one = file("one.yaml", "a: [");
        Path two = file("two.yaml", "");
        Path none = folder.resolve("none.yaml");
        assertThat(problems(one, two))
                .anyMatch(each -> each.startsWith(one + ":"))
                .contains(two + ":1:1: the file is empty");
        assertThat(problems(none, folder.resolve("nor.yaml"))).hasSize(2);
    }

    @Test
    void folder_hasItsYamlFiles_sortedByName() throws Exception {
        file("d/b.yaml", "default_upstream: t\nmodels: {b: {upstream: t}}\n");
        file("d/a.yaml", SERVERS + "models: {a: {upstream: t}}\n");
        file("d/ignored.txt", "[");
        file("d/below.yaml/c.yaml", "[");
        Set<Path> read = new TreeSet<>();
        ConfigLoader.LoadedConfig loaded = ConfigLoader.load(List.of(folder.resolve("d")), read);
        assertThat(loaded.config().models()).containsOnlyKeys("a", "b");
        assertThat(loaded.keys().paths()).contains(List.of("models", "b"), List.of("upstreams", "t", "protocol"));
        assertThat(read).containsExactly(folder.resolve("d/a.yaml"), folder.resolve("d/b.yaml"));
    }

    @Test
    void folderWithoutFiles_isAProblem() throws IOException {
        Path empty = Files.createDirectory(folder.resolve("empty"));
        assertThat(problems(empty)).containsExactly(empty + ": a file *.yaml is expected in the folder, got none");
    }

    @Test
    void relativePath_isThatOfItsFile() throws Exception {
        file("a/ramps", "");
        Path one =
                file("a/one.yaml", SERVERS + "ramps: {state_file: ramps}\nmodels: {m: {upstream: '${file:name}'}}\n");
        Path two = file("b/two.yaml", "default_upstream: ${file:name}\n");
        file("a/name", "t");
        file("b/name", "t");
        Set<Path> read = new HashSet<>();
        GatewayConfig config = ConfigLoader.load(List.of(one, two), read).config();
        assertThat(config.ramps().stateFile()).isEqualTo(folder.resolve("a/ramps"));
        assertThat(read).contains(folder.resolve("a/name"), folder.resolve("b/name"));
    }

    /** What an anchor gives to several places is changed in one of them only. */
    @Test
    void anchored_isMergedOnlyWhereItIsNamed() throws Exception {
        Path one = file("one.yaml", """
                upstreams:
                  a: &a {protocol: grpc, endpoints: ["10.0.0.1:1"]}
                  b: *a
                default_upstream: a
                """);
        Path two = file("two.yaml", "upstreams: {a: {timeout: 5s}}\n");
        GatewayConfig config = ConfigLoader.load(one, two);
        assertThat(requireNonNull(config.upstreams().get("b")).timeout()).isEqualTo(UpstreamConfig.DEFAULT.timeout());
    }

    @Test
    void defaults_holdForTheUpstreamsOfAllFiles() throws Exception {
        Path one = file("one.yaml", "upstream_defaults: {timeout: 5s}\ndefault_upstream: t\n");
        Path two = file("two.yaml", SERVERS);
        assertThat(requireNonNull(ConfigLoader.load(one, two).upstreams().get("t"))
                        .timeout())
                .isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void objectsThatContainThemselves_end() throws IOException {
        Path one = file("one.yaml", "&a {models: *a}");
        Path two = file("two.yaml", "&a {models: *a}");
        assertThat(problems(one, two)).isNotEmpty();
    }

    @Test
    void fileWithoutAnObject_isAProblem() throws IOException {
        Path one = file("one.yaml", SERVERS + "default_upstream: t");
        Path two = file("two.yaml", "- a");
        assertThat(problems(one, two))
                .containsExactly(two + ":1:1: an object is expected in each of several files; one is set at " + one
                        + ":1:1 already");
    }
}
