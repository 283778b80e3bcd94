package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.bench.process.BenchException;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CertificateFilesTest {
    @Test
    void replace_changesBothPairs_whichStayUsable(@TempDir Path folder)
            throws IOException, BenchException, InterruptedException {
        CertificateFiles files = new CertificateFiles(folder);
        files.create();
        for (String name : new String[] {CertificateFiles.RENAMED, CertificateFiles.LINKED}) {
            Path certificate = folder.resolve(name).resolve("tls.crt");
            Path key = folder.resolve(name).resolve("tls.key");
            String before = Files.readString(key);
            files.replace();
            assertThat(Files.readString(key)).isNotEqualTo(before);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(key)))
                    .isEqualTo("rw-------");
            assertThat(SslContextBuilder.forServer(certificate.toFile(), key.toFile())
                            .sslProvider(SslProvider.JDK)
                            .build()
                            .isServer())
                    .isTrue();
        }
    }
}
