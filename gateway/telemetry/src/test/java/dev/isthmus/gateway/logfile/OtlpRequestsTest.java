package dev.isthmus.gateway.logfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What spans and metrics have in common on their way to a collector. */
class OtlpRequestsTest {
    @TempDir
    Path folder;

    private Path file(String permissions, String text) throws IOException {
        Path file = Files.writeString(folder.resolve("key"), text);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    @Test
    void headers_areTheLinesOfTheirFiles() throws Exception {
        assertThat(OtlpRequests.headers(Map.of("x-api-key", file("rw-r-----", " secret\n"))))
                .isEqualTo(Map.of("x-api-key", "secret"));
    }

    @Test
    void fileThatOthersCanRead_isRefused() throws Exception {
        Path file = file("rw-r--r--", "secret\n");
        assertThatThrownBy(() -> OtlpRequests.headers(Map.of("x-api-key", file)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has mode 644: others can read it");
    }

    @Test
    void valueThatIsNoHeader_isNotShown() throws Exception {
        Path file = file("rw-------", "secret\nother\n");
        assertThatThrownBy(() -> OtlpRequests.headers(Map.of("x-api-key", file)))
                .isInstanceOf(IOException.class)
                .hasMessage(file + " has more than a line of text");
    }

    @Test
    void furtherAttributes_areThoseOfTheProcess_too() {
        assertThat(OtlpRequests.resource("a", "1", Map.of("team", "vision")))
                .containsEntry("service.name", "a")
                .containsEntry("service.version", "1")
                .containsEntry("team", "vision")
                .containsEntry(
                        "service.instance.id",
                        OtlpRequests.resource("b", "1", Map.of()).get("service.instance.id"));
    }
}
