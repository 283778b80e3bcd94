package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.net.FailureReason;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import org.jspecify.annotations.Nullable;

/** Why a handshake with a server failed, for operators. */
final class HandshakeFailure {
    private HandshakeFailure() {}

    static String reason(Throwable failure) {
        if (failure instanceof ClosedChannelException) {
            return "the server closed the connection during the handshake; does it speak TLS on this port, and does it"
                    + " ask for a certificate?";
        }
        String reason = null;
        for (Throwable each = failure; each != null; each = each.getCause()) {
            String known = known(each);
            reason = known == null ? reason : known;
        }
        return reason == null ? FailureReason.of(failure) : reason;
    }

    private static @Nullable String known(Throwable cause) {
        return switch (cause) {
            case CertificateExpiredException expired -> "the server's certificate has expired: " + text(expired);
            case CertificateNotYetValidException early -> "the server's certificate is not valid yet: " + text(early);
            case CertPathBuilderException unknown ->
                "the server's certificate was not issued by a trusted issuer ('ca'): " + text(unknown);
            case CertificateException refused -> "the server's certificate is refused: " + text(refused);
            default -> null;
        };
    }

    private static String text(Throwable cause) {
        return cause.getMessage() == null ? FailureReason.of(cause) : cause.getMessage();
    }
}
