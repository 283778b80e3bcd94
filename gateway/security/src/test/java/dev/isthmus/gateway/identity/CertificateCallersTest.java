package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.Authenticator.CertificateCallers;
import dev.isthmus.gateway.settings.AuthenticationConfig.CertificateName;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CertificateCallersTest {
    private static ClientCertificate certificate(String subject) {
        return new ClientCertificate(
                subject, List.of("a.example", "b.example"), List.of("spiffe://example/a"), List.of("a@example"));
    }

    @ParameterizedTest
    @CsvSource({"CN,client", "DNS,a.example", "URI,spiffe://example/a", "EMAIL,a@example"})
    void caller_isNamedByThePart(CertificateName part, String name) throws Exception {
        ClientCertificate certificate = certificate("CN=client,OU=CN\\=other,O=Example");
        CertificateCallers callers = new CertificateCallers(part);
        Principal caller = callers.caller(certificate);
        assertThat(caller.name()).isEqualTo(name);
        assertThat(caller.claims().get(Principal.SANS))
                .containsExactlyInAnyOrder("a.example", "b.example", "spiffe://example/a", "a@example");
        assertThat(callers.caller(certificate)).isSameAs(caller);
    }

    @Test
    void severalNames_theMostSpecificCounts() throws Exception {
        assertThat(new CertificateCallers(CertificateName.CN)
                        .caller(certificate("CN=leaf,CN=root"))
                        .name())
                .isEqualTo("leaf");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "O=Example", "CN=\\ ", "not a name"})
    void certificateWithoutTheName_isNobody(String subject) {
        assertThatThrownBy(() -> new CertificateCallers(CertificateName.CN).caller(certificate(subject)))
                .isInstanceOfSatisfying(
                        CredentialException.class,
                        refused -> assertThat(refused.failure()).isEqualTo(CredentialFailure.NO_NAME));
    }
}
