package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Doc(
        "Other gateways of the same deployment. Their versions, configurations, traffic and ramps are then shown beside those "
                + "of this one.")
public record PeersConfig(
        @Doc(
                "host:port of their admin addresses. Each IP address of a name is a gateway, so that the name of a headless "
                        + "Service is enough. This gateway may be among them; at most 64 are asked.")
        @NotEmpty
        List<Endpoint> endpoints,

        @Doc("File with the token that is sent to them; the role read is enough. Read each time. The file must not be "
                + "readable or writable by others, nor writable by its group.")
        @Nullable
        Path tokenFile,

        @Doc("Whether they are asked over TLS. Without it the token is sent in plain text.") @Default("false")
        boolean tls,

        @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                + "trusts. Needs 'tls'.")
        @Nullable
        Path ca,

        @Doc(
                "Host name that their certificates have, if not the IP address. Default: the host of the endpoint. Needs 'tls'.")
        @HostName
        @Nullable
        String serverName,

        @Doc("Time between two rounds, at least 5s. While somebody looks they are asked every 5 s.") @Default("30s")
        Duration interval,

        @Doc("Time for the answer of each, at most 10s.") @Default("2s")
        Duration timeout)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        check.secret("token_file", tokenFile);
        check.expect(interval.toSeconds() >= 5, "interval", "at least 5s is expected", Units.written(interval));
        check.atMost("timeout", timeout, "10s");
        if (check.valid("tls") && !tls && (ca != null || serverName != null)) {
            check.problem(ca == null ? "server_name" : "ca", "'tls: true' is expected with it");
        } else {
            check.authorities("ca", ca);
        }
    }
}
