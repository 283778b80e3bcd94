package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LedgersTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void newFolder_countsNothing() throws IOException {
        assertThat(ledgers().all()).isEqualTo(new Ledgers.Counted(0, 0));
        assertThat(ledgers().duplicates()).isZero();
    }

    @Test
    void arrivals_withoutCompletion_areUnderWay() throws IOException {
        Ledger ledger = ledger("one", "m");
        ledger.arrived(1);
        ledger.arrived(2);
        ledger.completed();
        assertThat(ledgers().of("one").inFlight()).isEqualTo(1);
    }

    @Test
    void id_atTwoStubs_isADuplicate() throws IOException {
        ledger("one", "m").arrived(7);
        ledger("two", "m").arrived(7);
        ledger("two", "m").arrived(8);
        assertThat(ledgers().duplicates()).isEqualTo(1);
    }

    @Test
    void id_twiceAtOneStub_isADuplicate() throws IOException {
        Ledger ledger = ledger("one", "m");
        ledger.arrived(Ledger.MAX_IDS - 1);
        ledger.arrived(Ledger.MAX_IDS - 1);
        assertThat(ledgers().duplicates()).isEqualTo(1);
    }

    @Test
    void id_veryOften_isCountedUpToABound() throws IOException {
        Ledger ledger = ledger("one", "m");
        for (int i = 0; i < 300; i++) {
            ledger.arrived(0);
        }
        assertThat(ledgers().executions("one")[0]).isEqualTo(127);
        assertThat(ledgers().of("one").arrivals()).isEqualTo(300);
    }

    @Test
    void id_outOfRange_isNotCounted() throws IOException {
        Ledger ledger = ledger("one", "m");
        assertThat(ledger.arrived(-1)).isFalse();
        assertThat(ledger.arrived(Ledger.MAX_IDS)).isFalse();
        assertThat(ledgers().all().arrivals()).isZero();
    }

    @Test
    void ledger_openedAgain_goesOn() throws IOException {
        ledger("one", "m").arrived(1);
        ledger("one", "m").arrived(2);
        assertThat(ledgers().of("one").arrivals()).isEqualTo(2);
    }

    @Test
    void counts_areOfEachStubAndModel() throws IOException {
        ledger("one", "stable").arrived(1);
        ledger("one", "canary").arrived(2);
        ledger("two", "stable").arrived(3);
        assertThat(ledgers().of("one").arrivals()).isEqualTo(2);
        assertThat(ledgers().ofModel("stable").arrivals()).isEqualTo(2);
        assertThat(ledgers().all().arrivals()).isEqualTo(3);
    }

    private Ledger ledger(String stub, String model) throws IOException {
        return Ledger.open(Ledgers.file(folder, stub, model));
    }

    private Ledgers ledgers() {
        return new Ledgers(folder);
    }
}
