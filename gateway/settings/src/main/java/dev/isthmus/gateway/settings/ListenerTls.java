package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Doc("TLS. Without this section the listener takes plain text. Changed files are read again within seconds.")
public record ListenerTls(
        @Doc("Certificates, chosen by the host name that the client asks for (SNI). The first is the default.")
        @Required
        @NotEmpty
        List<CertificateFiles> certificates,

        @Doc("Timeout of the TLS handshake, from the start of the connection.") @Default("10s")
        Duration handshakeTimeout,

        ClientCertificates clientCertificates,

        @Doc("The oldest version that clients may use.") @Default("1.2")
        TlsVersion minimumVersion)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        for (CertificateFiles files : certificates) {
            if (check.at(files).valid()) {
                check.at(files).keyed(files.certificate(), files.key());
            }
        }
    }

    @Doc("A certificate with its key.")
    public record CertificateFiles(
            @Doc("PEM file with the certificate, followed by those of its intermediate issuers.") @Required
            Path certificate,

            @Doc("PEM file with the key, RSA or EC, in PKCS#8, PKCS#1 or SEC 1 without a password. It must not be "
                    + "readable or writable by others, nor writable by its group.")
            @Required
            Path key) {}

    @Doc("Certificates of clients (mutual TLS).")
    public record ClientCertificates(
            @Doc("none: clients are not asked; optional: a certificate is verified if there is one; required: "
                    + "without one the handshake fails.")
            @Default("none")
            ClientCertificateMode mode,

            @Doc("PEM file with the certificates of the issuers that are trusted.") @Nullable
            Path ca,

            @Doc("PEM file with revocation lists, one of each issuer. A list that has expired refuses all of its "
                    + "issuer's certificates.")
            @Nullable
            Path crl)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            if (check.valid()) {
                if (mode != ClientCertificateMode.NONE && ca == null) {
                    check.problemAt("mode", "'ca' is required if clients are asked");
                }
                check.authorities("ca", ca);
                if (crl != null) {
                    check.reads("crl", () -> TlsFiles.revocations(crl));
                }
            }
        }
    }

    /** Whether clients need certificates. */
    public enum ClientCertificateMode {
        NONE,
        OPTIONAL,
        REQUIRED
    }

    public enum TlsVersion {
        TLS_1_2("1.2"),
        TLS_1_3("1.3");

        private final String number;

        TlsVersion(String number) {
            this.number = number;
        }

        /** The name in configuration files. */
        @Override
        public String toString() {
            return number;
        }
    }
}
