package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.tls.ClientTls.HandshakeFailure;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** What operators read about a handshake that failed. */
class HandshakeFailureTest {
    private static String reason(Throwable... causes) {
        for (int i = 0; i + 1 < causes.length; i++) {
            causes[i].initCause(causes[i + 1]);
        }
        return HandshakeFailure.reason(causes[0]);
    }

    @Test
    void innermostKnownCause_isTheReason() {
        assertThat(reason(
                        new SSLHandshakeException("General problem"),
                        new CertificateException("path validation failed"),
                        new CertificateExpiredException("NotAfter: yesterday")))
                .isEqualTo("the server's certificate has expired: NotAfter: yesterday");
    }

    @Test
    void certificatesThatAreRefused_haveTheirReasons() {
        assertThat(reason(new SSLHandshakeException("x"), new CertificateNotYetValidException("NotBefore: tomorrow")))
                .isEqualTo("the server's certificate is not valid yet: NotBefore: tomorrow");
        assertThat(reason(new SSLHandshakeException("x"), new CertPathBuilderException("unable to find a path")))
                .isEqualTo("the server's certificate was not issued by a trusted issuer ('ca'): unable to find a path");
        assertThat(reason(new SSLHandshakeException("x"), new CertificateException("no name matching a")))
                .isEqualTo("the server's certificate is refused: no name matching a");
    }

    @Test
    void serverThatCloses_isAskedForWhatItMayMiss() {
        assertThat(reason(new ClosedChannelException())).contains("does it speak TLS on this port");
    }

    @Test
    void otherFailures_areReportedAsTheyAre() {
        assertThat(reason(new SSLHandshakeException("no cipher suites in common")))
                .contains("no cipher suites in common");
    }
}
