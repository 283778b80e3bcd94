package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LogAreaTest {
    @ParameterizedTest
    @CsvSource({
        "dev.isthmus.gateway.fleet.Replica, fleet",
        "dev.isthmus.gateway.fleet.discovery.DnsDiscovery$DnsWatcher, fleet",
        "dev.isthmus.gateway.upstream.grpc.GrpcCall, fleet",
        "dev.isthmus.gateway.Gateway, gateway",
        "dev.isthmus.gateway.fleetwide.X, gateway",
        "dev.isthmus.gateway.accesslog.AccessLog, calls",
        "dev.isthmus.gateway.access.AccessPolicy, access",
        "dev.isthmus.local.run.Worker, local",
        "dev.isthmus, gateway",
        "dev.isthmusx.Y, libraries",
        "io.netty.util.ResourceLeakDetector, libraries",
        "ROOT, libraries",
        "'', libraries",
    })
    void logger_hasAnArea(String logger, String area) {
        assertThat(LogArea.of(logger).label()).isEqualTo(area);
        assertThat(LogArea.named(area)).isEqualTo(LogArea.of(logger));
    }

    @Test
    void names_areInTheDocumentation() throws Exception {
        String doc = Objects.requireNonNull(Arrays.stream(LoggingConfig.class.getRecordComponents())
                        .filter(each -> each.getName().equals("levels"))
                        .findFirst()
                        .orElseThrow()
                        .getAnnotation(Doc.class))
                .value();
        assertThat(doc).contains(": " + LogArea.labels() + ".");
        assertThat(LogArea.named("Fleet")).isNull();
    }
}
