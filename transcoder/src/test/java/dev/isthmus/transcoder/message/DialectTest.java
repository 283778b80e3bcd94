package dev.isthmus.transcoder.message;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DialectTest {
    /** Whatever a server calls its version, it is not an error. */
    @ParameterizedTest
    @CsvSource({
        "0.13.1, false",
        "0.14, true",
        "0.14.0rc1, true",
        "0.9, false",
        "1.0.0, true",
        "0, false",
        "'', false",
        "0., false",
        ".14, false",
        "., false",
        "0.14rc1, false",
        "dev, false",
        "99999999999.0, true"
    })
    void binaryDataOfKServe_dependsOnItsVersion(String version, boolean binary) {
        assertThat(Dialect.KSERVE.unannouncedBinary(version)).isEqualTo(binary);
        assertThat(Dialect.OVMS.unannouncedBinary(version)).isTrue();
        assertThat(Dialect.TRITON.unannouncedBinary(version)).isFalse();
    }
}
