package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The tables of docs/reference/errors.md have each code with its statuses, and each cause, in the order of the enums. */
class ErrorsDocumentedTest {
    private static final Path PAGE = Path.of(System.getProperty("isthmus.root", ".."), "docs/reference/errors.md");

    private static List<String> rows(String pattern) throws IOException {
        return Files.readString(PAGE)
                .split("\n## What clients are told\n", -1)[0]
                .lines()
                .filter(line -> line.matches(pattern))
                .toList();
    }

    @Test
    void codes() throws IOException {
        assertThat(rows("\\| `[A-Z_]+` \\| \\d.*"))
                .zipSatisfy(
                        Arrays.asList(ErrorCode.values()),
                        (row, code) -> assertThat(row)
                                .startsWith("| `" + code + "` | " + code.httpStatus() + " | "
                                        + ErrorCode.ofGrpcStatus(code.grpcStatus()) + " | "));
    }

    @Test
    void causes() throws IOException {
        assertThat(rows("\\| `[a-z_]+` \\| .*"))
                .zipSatisfy(
                        Arrays.asList(FailureCause.values()),
                        (row, cause) -> assertThat(row).startsWith("| `" + cause.label() + "` | "));
    }

    @Test
    void causesThatCountAgainstNoObjective() throws IOException {
        String listed = Arrays.stream(FailureCause.values())
                .filter(FailureCause::isClients)
                .map(cause -> "`" + cause.label() + "`")
                .collect(Collectors.joining(", "));
        assertThat(Files.readString(PAGE)).contains("but those of clients: " + listed + ". `server` counts");
    }
}
