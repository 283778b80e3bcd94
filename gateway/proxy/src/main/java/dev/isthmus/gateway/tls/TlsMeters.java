package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Map;

/** Metrics of TLS. */
final class TlsMeters {
    private final MeterRegistry registry;
    private final Counter applied;
    private final Counter rejected;
    private final Map<HandshakeResult, Counter> clients = new EnumMap<>(HandshakeResult.class);
    private final Map<HandshakeResult, Counter> upstreams = new EnumMap<>(HandshakeResult.class);

    TlsMeters(MeterRegistry registry) {
        this.registry = registry;
        applied = reloads("applied");
        rejected = reloads("rejected");
        for (HandshakeResult result : HandshakeResult.values()) {
            clients.put(result, handshakes("client", result));
            upstreams.put(result, handshakes("upstream", result));
        }
    }

    private Counter reloads(String result) {
        return Counter.builder("isthmus.tls.reloads")
                .description("Changed certificate files that were read again")
                .tag("result", result)
                .register(registry);
    }

    private Counter handshakes(String side, HandshakeResult result) {
        return Counter.builder("isthmus.tls.handshakes")
                .description("TLS handshakes")
                .tag("side", side)
                .tag("result", result.label())
                .register(registry);
    }

    void reloaded(boolean success) {
        (success ? applied : rejected).increment();
    }

    void ofClient(HandshakeResult result) {
        count(clients, result);
    }

    void ofUpstream(HandshakeResult result) {
        count(upstreams, result);
    }

    private static void count(Map<HandshakeResult, Counter> counters, HandshakeResult result) {
        Counter counter = counters.get(result);
        if (counter != null) {
            counter.increment();
        }
    }

    /** Shows when certificates expire, until the result is closed. */
    AutoCloseable show(Iterable<CertificateExpiry> expiries) {
        ReplaceableMeters gauges = new ReplaceableMeters(registry);
        for (CertificateExpiry each : expiries) {
            double seconds = each.until().getEpochSecond();
            gauges.add(to -> Gauge.builder("isthmus.tls.certificate.expiry", () -> seconds)
                    .description("When a certificate or revocation list expires, in seconds since 1970")
                    .baseUnit("seconds")
                    .tag("file", each.file().toString())
                    .tag("subject", each.subject())
                    .register(to));
        }
        return gauges;
    }
}
