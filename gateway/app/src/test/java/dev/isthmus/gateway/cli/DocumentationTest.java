package dev.isthmus.gateway.cli;

import static java.nio.file.StandardCopyOption.COPY_ATTRIBUTES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.isthmus.gateway.cli.MarkdownPage.Block;
import dev.isthmus.gateway.cli.MarkdownPage.ShownCommand;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * README.md and docs are correct: configurations load, commands run against a gateway and print what the page shows,
 * links resolve. A block that cannot be run says why in a comment above it, and is listed here.
 */
class DocumentationTest {
    /** Not run here; {@code PythonGuideTest} runs programs, because they need a client. */
    private static final Set<String> DATA = Set.of("json", "text", "pbtxt", "python");

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern TEST = Pattern.compile("`([A-Z]\\w*[a-z]Test)\\b");
    private static final Pattern PLAIN_PATH = Pattern.compile("docs/[a-z/-]+\\.md");

    /** The blocks that are not run, each with its reason: to add one is a decision. */
    private static final List<String> NOT_RUN = List.of(
            "CONTRIBUTING.md: builds",
            "README.md: needs a server of yours",
            "README.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/performance.md: takes minutes",
            "docs/explanation/sizing.md: takes minutes",
            "docs/guides/cache.md: needs a running gateway",
            "docs/guides/canary.md: needs a token file",
            "docs/guides/changing-the-code.md: builds",
            "docs/guides/changing-the-code.md: builds",
            "docs/guides/changing-the-code.md: builds",
            "docs/guides/changing-the-code.md: runs until it is stopped",
            "docs/guides/changing-the-code.md: runs until it is stopped",
            "docs/guides/chart.md: needs Kubernetes",
            "docs/guides/chart.md: needs Kubernetes",
            "docs/guides/chart.md: needs Kubernetes",
            "docs/guides/drift.md: needs Evidently",
            "docs/guides/from-kserve.md: needs Kubernetes",
            "docs/guides/incident.md: needs an incident",
            "docs/guides/incident.md: needs an incident",
            "docs/guides/installing.md: fetches Debian's packages",
            "docs/guides/installing.md: installs into the system",
            "docs/guides/installing.md: installs into the system",
            "docs/guides/installing.md: takes minutes",
            "docs/guides/kserve.md: needs Kubernetes",
            "docs/guides/kserve.md: needs Kubernetes",
            "docs/guides/kubernetes.md: needs Kubernetes",
            "docs/guides/kubernetes.md: needs Kubernetes",
            "docs/guides/layers.md: builds",
            "docs/guides/layers.md: needs the jar",
            "docs/guides/logs.md: needs a token file",
            "docs/guides/logs.md: needs a token file",
            "docs/guides/meshes.md: needs Kubernetes",
            "docs/guides/meshes.md: needs Kubernetes",
            "docs/guides/mixed-fleet.md: needs a server of yours",
            "docs/guides/releases.md: needs a release",
            "docs/guides/releases.md: needs a release",
            "docs/guides/releases.md: needs a release",
            "docs/guides/releases.md: needs a release",
            "docs/guides/releases.md: needs a release",
            "docs/guides/shutdown.md: needs Kubernetes",
            "docs/guides/tls.md: needs Kubernetes",
            "docs/guides/validation.md: needs a file",
            "docs/internals/faults.md: takes minutes",
            "docs/internals/faults.md: takes minutes",
            "docs/internals/faults.md: takes minutes",
            "docs/reference/command-line.md: no configuration",
            "docs/reference/command-line.md: no configuration",
            "docs/reference/command-line.md: no configuration",
            "docs/reference/local-backend.md: builds with the GPU profile",
            "docs/reference/local-backend.md: downloads the libraries for a GPU",
            "docs/reference/local-backend.md: needs a GPU",
            "docs/reference/resilience.md: needs a running gateway");

    /** Has the folders of the pages' configurations: {@code tls}, and the models that come with the gateway. */
    @TempDir
    static Path files = Path.of("");

    @BeforeAll
    static void createFiles() throws Exception {
        Path folder = Files.createDirectory(files.resolve("tls"));
        TestAuthority authority = new TestAuthority(folder, "ca");
        for (String name : List.of("tls", "client")) {
            TestAuthority.Issued issued = authority.issue(name, "localhost");
            Files.move(issued.certificate(), folder.resolve(name + ".crt"));
            Files.move(issued.key(), folder.resolve(name + ".key"));
        }
        Files.copy(authority.ca(), folder.resolve("clients.pem"));
        Files.copy(authority.ca(), folder.resolve("servers.pem"));
        Files.copy(authority.ca(), folder.resolve("collector-ca.pem"));
        Files.copy(folder.resolve("client.key"), folder.resolve("collector.key"), COPY_ATTRIBUTES);
        for (String secret : List.of("oidc.secret", "admin.token", "peers.token")) {
            Files.copy(folder.resolve("client.key"), folder.resolve(secret), COPY_ATTRIBUTES);
        }
        Files.move(authority.revoke(), folder.resolve("clients.crl"));
        Files.createSymbolicLink(files.resolve("local-backend"), MarkdownPage.ROOT.resolve("local-backend"));
    }

    @TestFactory
    Stream<DynamicTest> configurations_load() throws IOException {
        return MarkdownPage.all().stream()
                .flatMap(page -> page.blocks().stream()
                        .filter(block -> block.language().equals("yaml") && block.notRun() == null)
                        .map(block -> dynamicTest(
                                page.name() + ":" + block.line(),
                                () -> ConfigLoader.parse(page.name(), ConfigFragment.completed(block.text()), files))));
    }

    @TestFactory
    Stream<DynamicTest> commands_printWhatThePageShows() throws IOException {
        return MarkdownPage.all().stream()
                .filter(page -> page.blocks().stream()
                        .anyMatch(block -> block.language().equals("console") && block.notRun() == null))
                .map(page -> dynamicTest(page.name(), () -> run(page)));
    }

    private static void run(MarkdownPage page) throws Exception {
        try (DocumentedCommands commands = new DocumentedCommands(page)) {
            for (Block block : page.blocks()) {
                if (block.language().equals("console") && block.notRun() == null) {
                    for (ShownCommand command : block.commands()) {
                        String where = page.name() + ":" + block.line() + ": " + command.text();
                        String output = commands.run(command.text());
                        assertThat(output).as(where).matches(pattern(command.output()));
                    }
                }
            }
        }
    }

    /** Lines that the output contains in this order; "..." within a line stands for any text, alone for any lines. */
    private static Pattern pattern(List<String> shown) {
        StringBuilder regex = new StringBuilder("(?s).*?");
        for (String line : shown) {
            for (String part : line.strip().split("(?<=\\.\\.\\.)|(?=\\.\\.\\.)", -1)) {
                regex.append(part.equals("...") ? "[^\\n]*" : Pattern.quote(part));
            }
            regex.append(line.strip().equals("...") ? ".*?" : "\\s*?");
        }
        return Pattern.compile(regex.append(".*").toString());
    }

    @Test
    void blocks_sayWhatTheyAre() throws IOException {
        List<String> notRun = new ArrayList<>();
        for (MarkdownPage page : MarkdownPage.all()) {
            for (Block block : page.blocks()) {
                String where = page.name() + ":" + block.line();
                if (block.notRun() != null) {
                    notRun.add(page.name() + ": " + block.notRun());
                } else {
                    assertThat(block.language()).as(where).matches("yaml|console|" + String.join("|", DATA));
                }
            }
        }
        assertThat(notRun).containsExactlyInAnyOrderElementsOf(NOT_RUN);
    }

    @Test
    void scripts_areThere() throws IOException {
        for (MarkdownPage page : MarkdownPage.all()) {
            for (Block block : page.blocks()) {
                if (block.language().equals("console")) {
                    for (ShownCommand command : block.commands()) {
                        String program = command.text()
                                .replaceFirst("^(\\w+=\\S+ )+", "")
                                .split("\\s", -1)[0];
                        if (program.contains("/")) {
                            assertThat(MarkdownPage.ROOT.resolve(program))
                                    .as(page.name() + ":" + block.line())
                                    .isExecutable();
                        }
                    }
                }
            }
        }
    }

    @Test
    void links_leadSomewhere() throws IOException {
        List<String> dead = new ArrayList<>();
        for (MarkdownPage page : MarkdownPage.inRepository()) {
            Matcher links = LINK.matcher(String.join("\n", page.lines()));
            while (links.find()) {
                String link = links.group(1);
                if (!link.contains("://") && !leads(MarkdownPage.ROOT.resolve(page.name()), link)) {
                    dead.add(page.name() + ": " + link);
                }
            }
            Matcher paths = PLAIN_PATH.matcher(String.join("\n", page.lines()));
            while (paths.find()) {
                if (!Files.exists(MarkdownPage.ROOT.resolve(paths.group()))) {
                    dead.add(page.name() + ": " + paths.group());
                }
            }
        }
        assertThat(dead).isEmpty();
    }

    private static boolean leads(Path page, String link) throws IOException {
        int hash = link.indexOf('#');
        String path = URLDecoder.decode(hash < 0 ? link : link.substring(0, hash), StandardCharsets.UTF_8);
        Path file = path.isEmpty() ? page : page.resolveSibling(path);
        return Files.exists(file) && (hash < 0 || anchors(file).contains(link.substring(hash + 1)));
    }

    /** Anchors as GitHub derives them from headings. */
    private static Set<String> anchors(Path file) throws IOException {
        Set<String> anchors = new TreeSet<>();
        for (String line : Files.readAllLines(file)) {
            if (line.matches("#{1,6} .*")) {
                anchors.add(line.replaceFirst("#+ ", "")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                        .replace(' ', '-'));
            }
        }
        return anchors;
    }

    /** Decisions name tests that exist. */
    @Test
    void namedTests_areThere() throws IOException {
        Set<String> tests = new TreeSet<>();
        for (String module : List.of("transcoder", "local-backend", "gateway", "bench")) {
            try (Stream<Path> files = Files.walk(MarkdownPage.ROOT.resolve(module))) {
                files.map(Path::toString)
                        .filter(name -> name.endsWith("Test.java"))
                        .forEach(name -> tests.add(name.substring(name.lastIndexOf('/') + 1, name.length() - 5)));
            }
        }
        for (MarkdownPage page : MarkdownPage.all()) {
            Matcher names = TEST.matcher(String.join("\n", page.lines()));
            while (names.find()) {
                assertThat(tests).as(page.name()).contains(names.group(1));
            }
        }
    }

    /** Except for the guide that has nothing else. */
    @Test
    void guides_endWithWhatCanGoWrong() throws IOException {
        assertThat(MarkdownPage.all())
                .filteredOn(page -> page.name().startsWith("docs/guides/"))
                .filteredOn(page -> !page.name().endsWith("/troubleshooting.md"))
                .isNotEmpty()
                .allSatisfy(page -> assertThat(page.lines())
                        .as(page.name())
                        .filteredOn(line -> line.startsWith("## "))
                        .endsWith("## What can go wrong"));
    }

    @Test
    void guides_haveAtMost900Words() throws IOException {
        Pattern word = Pattern.compile("\\S+");
        assertThat(MarkdownPage.all())
                .filteredOn(page -> page.name().startsWith("docs/guides/"))
                .isNotEmpty()
                .allSatisfy(page -> assertThat(word.matcher(String.join("\n", page.lines()))
                                .results()
                                .count())
                        .as(page.name())
                        .isLessThanOrEqualTo(900));
    }

    /** Every page is linked from another page. */
    @Test
    void pages_areInTheIndex() throws IOException {
        String index = Files.readString(MarkdownPage.ROOT.resolve("docs/README.md"));
        assertThat(MarkdownPage.all())
                .map(MarkdownPage::name)
                .filteredOn(name -> name.startsWith("docs/") && !name.equals("docs/README.md"))
                .allSatisfy(name -> assertThat(index).contains("(" + name.substring("docs/".length()) + ")"));
    }
}
