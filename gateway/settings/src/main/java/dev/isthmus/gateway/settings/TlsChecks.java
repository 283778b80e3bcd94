package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ListenerTls.CertificateFiles;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificateMode;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificates;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Checks the sections on TLS, and the files that they name. */
final class TlsChecks {
    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    TlsChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void listener(String what, ListenerTls tls) {
        for (CertificateFiles files : tls.certificates()) {
            if (checks.valid(files)) {
                keyed(files, what + ": tls", files.certificate(), files.key());
            }
        }
        ClientCertificates clients = tls.clientCertificates();
        if (!checks.valid(clients)) {
            return;
        }
        String section = what + ": tls: client_certificates";
        if (clients.mode() != ClientCertificateMode.NONE && clients.ca() == null) {
            yaml.problem(positions.of(clients, "mode"), section + ": 'ca' is required if clients are asked");
        }
        certificates(clients, section, clients.ca());
        Path crl = clients.crl();
        if (crl != null) {
            read(clients, section, "crl", () -> TlsFiles.revocations(crl));
        }
    }

    void upstream(String what, UpstreamTls tls) {
        if (!checks.valid(tls)) {
            return;
        }
        String section = what + ": tls";
        certificates(tls, section, tls.ca());
        own(tls, section, tls.certificate(), tls.key());
    }

    /** Checks the gateway's own certificate as a client, if it has one. */
    void own(Record section, String what, @Nullable Path certificate, @Nullable Path key) {
        if (certificate != null && key != null) {
            keyed(section, what, certificate, key);
        } else if (certificate != null || key != null) {
            yaml.problem(positions.of(section), what + ": 'certificate' and 'key' are expected together");
        }
    }

    private void certificates(Record section, String what, @Nullable Path ca) {
        if (ca != null) {
            read(section, what, "ca", () -> TlsFiles.certificates(ca));
        }
    }

    private void keyed(Record section, String what, Path certificate, Path key) {
        try {
            TlsFiles.keyed(certificate, key);
        } catch (TlsFileException e) {
            String name = e.file().equals(key) && !key.equals(certificate) ? "key" : "certificate";
            problem(section, what, name, e);
        }
    }

    private void read(Record section, String what, String key, Runnable reading) {
        try {
            reading.run();
        } catch (TlsFileException e) {
            problem(section, what, key, e);
        }
    }

    private void problem(Record section, String what, String key, TlsFileException e) {
        yaml.problem(positions.of(section, key), what + ": " + key + ": " + e.getMessage());
    }
}
