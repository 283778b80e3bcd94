package dev.isthmus.gateway.cache;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.cache.ResponseCache.CacheDirectives;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CacheDirectivesTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            | false | false
            '' | false | false
            no-cache | true | false
            No-Cache | true | false
            max-age=0 | true | false
            max-age=05 | false | false
            no-store | false | true
            'max-stale=3, no-store ,no-cache' | true | true
            only-if-cached | false | false
            no-cachee | false | false
            """)
    void header_isRead(@Nullable String header, boolean refresh, boolean noStore) {
        assertThat(CacheDirectives.of(header)).isEqualTo(new CacheDirectives(refresh, noStore));
    }
}
