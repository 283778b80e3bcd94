package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
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
        assertThat(endpoint.address().isUnresolved()).isEqualTo(unresolved);
        assertThat(endpoint.authority()).isEqualTo(authority);
    }

    @ParameterizedTest
    @CsvSource({"h,0", "h,65536", "'',1"})
    void endpoint_thatIsNone_isRefused(String host, int port) {
        assertThatThrownBy(() -> new Endpoint(host, port)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void settings_withoutEndpoint_areRefused() {
        assertThatThrownBy(() -> UpstreamSettings.of("x", List.of(), Duration.ofSeconds(1), Duration.ofSeconds(1), 1))
                .hasMessage("upstream 'x' needs an endpoint");
    }

    @ParameterizedTest
    @CsvSource({"60000,60 s", "2500,2.5 s", "2000,2 s", "250,250 ms", "-5,0 ms", "59998,60 s"})
    void timeout_isToldInWords(long millis, String words) {
        assertThat(new UpstreamFailures("x").timedOut(millis * 1_000_000, null))
                .hasMessage("upstream 'x' did not answer within " + words);
    }
}
