package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OriginPatternTest {
    private static OriginPattern pattern(String text) {
        return Objects.requireNonNull(OriginPattern.parse(text));
    }

    @ParameterizedTest
    @CsvSource({
        "https://app.example.com, https://app.example.com",
        "http://localhost:8080, http://localhost:8080",
        "https://*.example.com, https://a.example.com",
        "https://*.example.com, https://a.b.example.com",
        "https://*.example.com:8443, https://a.example.com:8443",
        "https://*.example.com:*, https://a.example.com:1",
        "http://localhost:*, http://localhost:65535",
        "http://localhost:*, http://localhost",
        "http://[::1]:*, http://[::1]:8080",
        "http://127.0.0.1:9, http://127.0.0.1:9",
        "chrome-extension://abcdef, chrome-extension://abcdef",
        "*, https://app.example.com",
        "*, null"
    })
    void origin_matches(String text, String origin) {
        assertThat(pattern(text).matches(origin)).isTrue();
        assertThat(pattern(text)).hasToString(text).isEqualTo(pattern(text));
    }

    @ParameterizedTest
    @CsvSource({
        "https://app.example.com, http://app.example.com",
        "https://app.example.com, https://app.example.com:8443",
        "https://app.example.com, https://app.example.com.evil.org",
        "https://app.example.com, https://appxexample.com",
        "https://app.example.com, null",
        "https://*.example.com, https://example.com",
        "https://*.example.com, https://badexample.com",
        "https://*.example.com, https://a.example.com.evil.org",
        "https://*.example.com, https://evil.org/.example.com",
        "https://*.example.com, https://evil.org?.example.com",
        "https://*.example.com, https://evil.org:1.example.com",
        "https://*.example.com, https://a@b.example.com",
        "https://*.example.com, https://a.example.com:1",
        "http://localhost:*, http://localhost:",
        "http://localhost:*, http://localhost:1x",
        "http://localhost:*, http://localhost.evil.org",
        "http://localhost:*, http://localhost:1.evil.org"
    })
    void otherOrigin_doesNotMatch(String text, String origin) {
        assertThat(pattern(text).matches(origin)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "example.com",
                "https://",
                "https://example.com/",
                "https://example.com/app",
                "HTTPS://example.com",
                "https://Example.com",
                "https://example.com:443",
                "http://example.com:80",
                "http://example.com:123456",
                "https://a.*.example.com",
                "https://*",
                "https://*example.com",
                "*://example.com",
                "**",
                "null",
                "https://user@example.com",
                "//example.com"
            })
    void otherText_isRefused(String text) {
        assertThat(OriginPattern.parse(text)).isNull();
    }
}
