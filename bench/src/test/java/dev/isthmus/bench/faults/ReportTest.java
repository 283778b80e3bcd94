package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void failures_areNamedByKind() {
        assertThat(Row.failed(Map.of())).isEqualTo("0");
        assertThat(Row.failed(new TreeMap<>(Map.of("reset", 2, "503", 40)))).isEqualTo("42: 503 40, reset 2");
    }

    @Test
    void row_hasWhatWasOfferedAndWhatCameOfIt() throws Exception {
        Tally tally = new Tally();
        for (int id = 0; id < 4; id++) {
            tally.offered();
            tally.ended(id, 0, 0, 2_000_000, id == 0 ? Outcome.TIMEOUT : Outcome.OK);
        }
        Ledger ledger = Ledger.open(Ledgers.file(folder, "one", "m"));
        ledger.arrived(0);
        ledger.arrived(0);
        Row row = Row.played("kill", ClientProtocol.GRPC, tally, new Ledgers(folder), Verdict.of(false, "noted"));
        assertThat(row.cells()).containsExactly("4", "3", "1: timeout 1", "2.0", "2.0", "2.0", "0.500", "1");
        assertThat(row.line()).contains("| kill ").contains("| missed ").contains("| noted |");
    }

    @Test
    void problem_staysInItsLine() {
        Row row = Row.unplayed("kill", ClientProtocol.REST, "gateway was not ready\n    unknown key");
        assertThat(row.line()).contains("| gateway was not ready; unknown key |");
        assertThat(row.verdict().result()).isEqualTo(Verdict.Result.MISSED);
    }
}
