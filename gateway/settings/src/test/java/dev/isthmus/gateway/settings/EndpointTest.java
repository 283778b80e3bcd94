package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
        assertThat(endpoint.address().isUnresolved()).isEqualTo(unresolved);
        assertThat(endpoint.authority()).isEqualTo(authority);
    }

    @ParameterizedTest
    @CsvSource({"h,0", "h,65536", "'',1"})
    void endpoint_thatIsNone_isRefused(String host, int port) {
        assertThatThrownBy(() -> new Endpoint(host, port)).isInstanceOf(IllegalArgumentException.class);
    }
}
