package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressRangeTest {
    private static AddressRange range(String text) {
        return Objects.requireNonNull(AddressRange.parse(text));
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.0/8, 10.255.0.1, true",
        "10.0.0.0/8, 11.0.0.1, false",
        "192.0.2.128/25, 192.0.2.128, true",
        "192.0.2.128/25, 192.0.2.127, false",
        "0.0.0.0/0, 192.0.2.1, true",
        "0.0.0.0/0, ::1, false",
        "192.0.2.1, 192.0.2.1, true",
        "192.0.2.1, 192.0.2.2, false",
        "192.0.2.1, ::ffff:192.0.2.1, true",
        "fd00::/8, fd12::1, true",
        "fd00::/8, fe12::1, false",
        "2001:db8::/33, 2001:db8:7fff::1, true",
        "2001:db8::/33, 2001:db8:8000::1, false"
    })
    void contains(String range, String address, boolean contained) throws Exception {
        assertThat(range(range).contains(InetAddress.getByName(address))).isEqualTo(contained);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "a.example",
                "10.0.0.0/33",
                "::/129",
                "10.0.0.1/8",
                "10.0.0.0/",
                "10.0.0.0/08",
                "10.0.0.0/-1",
                "[::1]",
                "fe80::1%eth0",
                "10.0.0.0/8/8",
                "10.0.0/8"
            })
    void anythingElse_isNull(String text) {
        assertThat(AddressRange.parse(text)).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.0.0.0/8", "192.0.2.1", "fd00::/8", "::1"})
    void isWrittenAsItIsRead(String text) {
        assertThat(range(text)).hasToString(text).isEqualTo(range(text)).hasSameHashCodeAs(range(text));
    }
}
