package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EndpointTest {

    @ParameterizedTest
    @CsvSource({
        "127.0.0.1,false,127.0.0.1:8000",
        "::1,false,[::1]:8000",
        "triton,true,triton:8000",
        "localhost,true,localhost:8000"
    })
    void address_isResolvedOnlyWhereNobodyMustBeAsked(String host, boolean unresolved, String authority) {
        Endpoint endpoint = new Endpoint(host, 8000);
        assertThat(endpoint.literal()).isNotEqualTo(unresolved);
        assertThat(endpoint.authority()).isEqualTo(authority);
    }

    @Test
    void unixSocket_isOneServer_whosePathIsInNoAuthority() {
        Endpoint endpoint = Endpoint.unix(Path.of("/tmp/socket"));
        assertThat(endpoint.address()).isEqualTo(UnixDomainSocketAddress.of("/tmp/socket"));
        assertThat(endpoint.literal()).isTrue();
        assertThat(endpoint.authority()).isEqualTo("local");
    }

    @Test
    void path_ofAnybodyElse_isAName() {
        Endpoint endpoint = new Endpoint("/run/other.sock", 8000);
        assertThat(endpoint.literal()).isFalse();
        assertThat(endpoint.authority()).isEqualTo("/run/other.sock:8000");
    }

    @ParameterizedTest
    @CsvSource({"h,0", "h,65536", "'',1", "/run/other.sock,0"})
    void endpoint_thatIsNone_isRefused(String host, int port) {
        assertThatThrownBy(() -> new Endpoint(host, port)).isInstanceOf(IllegalArgumentException.class);
    }
}
