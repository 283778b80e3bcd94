package dev.isthmus.local.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class VersionPolicyTest {
    private static final SortedSet<Long> VERSIONS = new TreeSet<>(List.of(1L, 2L, 9L, 10L));

    @Test
    void byDefault_theHighestNumber() {
        assertThat(VersionPolicy.DEFAULT.select(VERSIONS)).containsExactly(10L);
    }

    @Test
    void latest_theHighestSoMany() {
        assertThat(new VersionPolicy.Latest(2).select(VERSIONS)).containsExactly(9L, 10L);
        assertThat(new VersionPolicy.Latest(9).select(VERSIONS)).containsExactly(1L, 2L, 9L, 10L);
    }

    @Test
    void latest_ofNone_isRefused() {
        assertThatThrownBy(() -> new VersionPolicy.Latest(0)).hasMessageContaining("got 0");
    }

    @Test
    void all_everyVersion() {
        assertThat(new VersionPolicy.All().select(VERSIONS)).containsExactly(1L, 2L, 9L, 10L);
    }

    @Test
    void specific_alsoThoseThatAreMissing() {
        VersionPolicy policy = new VersionPolicy.Specific(new TreeSet<>(List.of(2L, 3L)));
        assertThat(policy.select(VERSIONS)).containsExactly(2L, 3L);
    }
}
