package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.ingress.ConnectionPolicies.OpenFileLimit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OpenFileLimitTest {
    @ParameterizedTest
    @CsvSource({"0, 16", "200, 16", "256, 42", "1024, 618", "65536, 49002", "9223372036854775807, 2147483647"})
    void aQuarterAndTheFilesOfTheProcess_areNotForClients(long files, int connections) {
        assertThat(OpenFileLimit.connections(files)).isEqualTo(connections);
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 17, 18, 10_000, 1_000_000})
    void filesForConnections_areEnough(int connections) {
        long files = OpenFileLimit.files(connections);
        assertThat(OpenFileLimit.connections(files)).isGreaterThanOrEqualTo(connections);
        assertThat(OpenFileLimit.connections(files - 4)).isLessThan(Math.max(17, connections));
    }
}
