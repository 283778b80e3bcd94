package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ApiKeyFileTest {
    private static final String A = "a".repeat(64);
    private static final String B = "B".repeat(64);

    @TempDir
    Path folder = Path.of(".");

    private Path file(String text, String permissions) throws IOException {
        Path file = Files.writeString(folder.resolve("keys"), text);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    private List<String> problems(Path file) {
        return Objects.requireNonNull(catchThrowableOfType(ConfigException.class, () -> ApiKeyFile.read(file)))
                .problems();
    }

    @Test
    void lines_areKeysWithTheGroupsOfTheirName() throws Exception {
        List<ApiKeyFile.ApiKeyEntry> entries =
                ApiKeyFile.read(file("# keys\r\n\r\nalice " + A + " g1 # old\n  alice\t" + B + " g2\n", "rw-r-----"));
        assertThat(entries).extracting(ApiKeyFile.ApiKeyEntry::name).containsExactly("alice", "alice");
        assertThat(entries).allSatisfy(each -> assertThat(each.groups()).containsExactlyInAnyOrder("g1", "g2"));
        assertThat(entries.get(1).sha256()).isEqualTo(B);
    }

    @ParameterizedTest
    @ValueSource(strings = {"alice", "alice the-key-itself", "alice abc123", "alice abc123 g"})
    void invalidLine_isNamed_withoutItsContent(String line) throws Exception {
        List<String> problems = problems(file("# first\n" + line + "\n", "rw-------"));
        assertThat(problems)
                .singleElement()
                .asString()
                .startsWith(folder.resolve("keys") + ":2: ")
                .contains("is expected");
        assertThat(problems.getFirst()).doesNotContain("the-key-itself", "abc123");
    }

    @Test
    void keyGivenTwice_isRefused() throws Exception {
        assertThat(problems(file("a " + A + "\nb " + A.toUpperCase(Locale.ROOT) + "\n", "rw-------")))
                .containsExactly(folder.resolve("keys") + ":2: the key of line 1 is given again");
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r--r--", "rw----r--", "rw-rw----"})
    void fileThatOthersReach_isRefused(String permissions) throws Exception {
        assertThat(problems(file("a " + A, permissions)))
                .singleElement()
                .asString()
                .contains("has mode");
    }
}
