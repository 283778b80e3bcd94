package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HeaderAllowListTest {
    private final HeaderAllowList all = HeaderAllowList.of(List.of("*"));

    /** WSGI and CGI read '_' as '-', and gRPC libraries may leave out the suffix. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "x-isthmus-principal",
                "x-isthmus_principal",
                "x_isthmus_principal",
                "x.isthmus.principal",
                "x-isthmus-principal-bin",
                "x_isthmus_principal-bin",
                "x_request_timeout_ms",
                "isthmus_hops",
                "inference_header_content_length",
                "content_length",
                "transfer_encoding",
                "grpc_timeout",
                "x_forwarded_for",
                "x-forwarded_proto",
                "x_real_ip",
                "x_request_id"
            })
    void otherSpellings_ofWhatTheGatewaySets_areNotForwarded(String name) {
        assertThat(all.contains(name)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x-flow-bin", "x_flow", "x.flow", "x-request-id", "x-forwarded-for", "authorization"})
    void others_areForwarded(String name) {
        assertThat(all.contains(name)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x-user", "x_user", "x.user", "x-user-bin"})
    void exceptions_applyToOtherSpellings(String name) {
        HeaderAllowList some = all.without(Set.of(name));

        assertThat(some.contains(name)).isFalse();
        assertThat(some.contains("x-user")).isFalse();
        assertThat(some.contains("x_user")).isFalse();
        assertThat(some.contains("x-user-bin")).isFalse();
        assertThat(some.contains("x-users")).isTrue();
    }

    @Test
    void otherSpelling_cannotBeListed() {
        assertThatThrownBy(() -> HeaderAllowList.of(List.of("X_Isthmus_Principal")))
                .hasMessage("header 'X_Isthmus_Principal' is never forwarded");
    }
}
