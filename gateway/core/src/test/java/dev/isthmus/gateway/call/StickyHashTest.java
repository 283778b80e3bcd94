package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StickyHashTest {

    /** Documented in docs/reference/routing.md: gateways of other releases agree. */
    @ParameterizedTest
    @CsvSource({"'', efd01f60ba992926", "a, 82a2a958a9bece5b", "resnet, 6bd7ce7e1b061a36", "é😀, 576e4076fa896fcc"})
    void text_hasTheDocumentedHash(String text, String hash) {
        assertThat(Long.toHexString(StickyHash.of(text))).isEqualTo(hash);
    }

    @Test
    void seed_hasTheDocumentedEffect() {
        long hash = StickyHash.of(StickyHash.of("resnet"), "alice");
        assertThat(Long.toHexString(hash)).isEqualTo("96b65fa71a33dd1a");
        assertThat(StickyHash.unit(hash)).isEqualTo(0.5887203009571772);
        assertThat(Long.toHexString(StickyHash.affinity(hash))).isEqualTo("2001a4fa80541b2b");
    }

    @Test
    void unit_endsBelowOne() {
        assertThat(StickyHash.unit(0)).isZero();
        assertThat(StickyHash.unit(-1)).isLessThan(1).isGreaterThan(0.9999999);
    }

    @Test
    void affinity_isNeverNone() {
        assertThat(StickyHash.affinity(0x61c8864680b583ebL)).isNotEqualTo(Call.NO_AFFINITY);
    }

    @Test
    void similarKeys_spreadEvenly() {
        int[] counts = new int[16];
        for (int i = 0; i < 160_000; i++) {
            counts[(int) (StickyHash.unit(StickyHash.of("user-" + i)) * counts.length)]++;
        }
        assertThat(counts).satisfies(all -> assertThat(all).doesNotContain(0));
        for (int count : counts) {
            assertThat(count).isBetween(9_600, 10_400);
        }
    }
}
