package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

@Doc("TLS to the servers, for calls, health checks and metrics. Without this section connections are plain text. "
        + "The server's certificate and its host name are always verified. Changed files are read again within "
        + "seconds.")
public record UpstreamTls(
        @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                + "trusts.")
        @Nullable
        Path ca,

        @Doc("Host name that is asked for (SNI) and that the certificate must have. Default: the host of the "
                + "endpoint.")
        @HostName
        @Nullable
        String serverName,

        @Doc("PEM file with the gateway's own certificate, for servers that ask for one.") @Nullable
        Path certificate,

        @Doc("PEM file with its key; as the key of a listener.") @Nullable
        Path key)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        if (check.valid()) {
            check.authorities("ca", ca);
            check.ownCertificate(certificate, key);
        }
    }
}
