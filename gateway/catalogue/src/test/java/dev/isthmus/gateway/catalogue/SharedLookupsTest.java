package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.catalogue.SharedLookups.LookupResult;
import dev.isthmus.oip.ErrorCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class SharedLookupsTest {
    private final AtomicLong now = new AtomicLong();
    private final SharedLookups<String, Integer> shared = new SharedLookups<>(now::get);
    private final List<Consumer<LookupResult<Integer>>> searches = new ArrayList<>();
    private final List<LookupResult<Integer>> results = new ArrayList<>();

    private static LookupResult<Integer> seven() {
        return new LookupResult.Value<>(7, Duration.ofSeconds(2));
    }

    @Test
    void lookUp_wantedByTwo_isOne() {
        shared.lookUp("a", searches::add, results::add);
        shared.lookUp("a", searches::add, results::add);
        assertThat(searches).hasSize(1);
        searches.getFirst().accept(seven());
        assertThat(results).containsExactly(seven(), seven());
    }

    @Test
    void outcome_isKeptAsLongAsItSays() {
        shared.lookUp("a", searches::add, results::add);
        searches.getFirst().accept(seven());
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(1_900));
        assertThat(shared.known("a")).contains(seven());
        now.addAndGet(TimeUnit.MILLISECONDS.toNanos(200));
        assertThat(shared.known("a")).isEmpty();
    }

    @Test
    void lookUpFromBeforeAChange_isNeitherJoinedNorKept() {
        shared.lookUp("a", searches::add, results::add);
        shared.outdated("a"::equals);
        shared.lookUp("a", searches::add, results::add);
        assertThat(searches).hasSize(2);
        searches.getFirst().accept(new LookupResult.Value<>(1, Duration.ofSeconds(2)));
        assertThat(shared.known("a")).isEmpty();
        searches.getLast().accept(seven());
        assertThat(shared.known("a")).contains(seven());
        assertThat(results).containsExactly(new LookupResult.Value<>(1, Duration.ofSeconds(2)), seven());
    }

    @Test
    void changeOfOne_leavesTheOthers() {
        for (String each : List.of("a", "b", "c")) {
            shared.lookUp(each, searches::add, results::add);
        }
        searches.getFirst().accept(seven());
        searches.getLast().accept(seven());
        shared.outdated("a"::equals);
        assertThat(shared.known("a")).isEmpty();
        assertThat(shared.known("c")).contains(seven());
        shared.lookUp("b", searches::add, results::add);
        assertThat(searches).hasSize(3);
    }

    @Test
    void lookUps_tooMany_areRefused() {
        for (int i = 0; i < SharedLookups.MAX_LOOK_UPS; i++) {
            shared.lookUp("model " + i, searches::add, results::add);
        }
        assertThat(results).isEmpty();
        shared.lookUp("one more", searches::add, results::add);
        assertThat(results)
                .singleElement()
                .isInstanceOfSatisfying(
                        LookupResult.Failure.class,
                        failure -> assertThat(failure.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE));
    }
}
