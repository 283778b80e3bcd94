package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SectionReaderTest {
    @ParameterizedTest
    @CsvSource({"models,model", "aliases,alias", "trusted_proxies,trusted_proxy", "rules,rule", "allow,allow"})
    void items_areNamedInTheSingular(String key, String item) {
        assertThat(SectionReader.singular(key)).isEqualTo(item);
    }
}
