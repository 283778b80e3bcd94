package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

final class TlsMeters {
    private final MeterRegistry registry;
    private final Counter applied;
    private final Counter rejected;
    final HandshakeMeters clients;
    final HandshakeMeters upstreams;

    TlsMeters(MeterRegistry registry) {
        this.registry = registry;
        applied = reloads("applied");
        rejected = reloads("rejected");
        clients = new HandshakeMeters("client");
        upstreams = new HandshakeMeters("upstream");
    }

    private Counter reloads(String result) {
        return Counter.builder("isthmus.tls.reloads")
                .description("Changed certificate files that were read again")
                .tag("result", result)
                .register(registry);
    }

    void reloaded(boolean success) {
        (success ? applied : rejected).increment();
    }

    final class HandshakeMeters {
        private static final String NEWEST = "TLSv1.3";
        private final Map<HandshakeResult, Counter> results;
        private final Counter newest;
        private final Counter older;
        private final LongAdder handshakes = new LongAdder();
        private final LongAdder nanos = new LongAdder();

        private HandshakeMeters(String side) {
            results = LabelledCounters.of(
                    HandshakeResult.class,
                    result -> Counter.builder("isthmus.tls.handshakes")
                            .description(
                                    "TLS handshakes. plain_text: the peer does not speak TLS; closed: it closed the connection;"
                                            + " failed: no common version or cipher, or a certificate that either side refused")
                            .tag("side", side)
                            .tag("result", result.label())
                            .register(registry));
            newest = version(side, NEWEST);
            older = version(side, "TLSv1.2");
            FunctionTimer.builder(
                            "isthmus.tls.handshake.duration",
                            handshakes,
                            LongAdder::sum,
                            count -> nanos.sum(),
                            TimeUnit.NANOSECONDS)
                    .description("Duration of successful TLS handshakes")
                    .tag("side", side)
                    .register(registry);
        }

        private Counter version(String side, String version) {
            return Counter.builder("isthmus.tls.connections")
                    .description("TLS connections by version")
                    .tag("side", side)
                    .tag("version", version)
                    .register(registry);
        }

        void ended(HandshakeResult result) {
            LabelledCounters.increment(results, result);
        }

        /** @param protocol the version, as {@code TLSv1.3} */
        void ended(String protocol, long took) {
            ended(HandshakeResult.OK);
            (protocol.equals(NEWEST) ? newest : older).increment();
            handshakes.increment();
            nanos.add(took);
        }
    }

    /** Shows when certificates expire, until the result is closed. */
    ReplaceableMeters show(Iterable<CertificateExpiry> expiries) {
        ReplaceableMeters gauges = new ReplaceableMeters(registry);
        for (CertificateExpiry each : expiries) {
            double seconds = each.until().getEpochSecond();
            gauges.add(to -> Gauge.builder("isthmus.tls.certificate.expiry", () -> seconds)
                    .description(
                            "When a certificate, a trusted issuer or a revocation list (subject: its issuer) expires, in"
                                    + " seconds since 1970")
                    .baseUnit("seconds")
                    .tag("file", each.file().toString())
                    .tag("subject", each.subject())
                    .register(to));
        }
        return gauges;
    }
}
