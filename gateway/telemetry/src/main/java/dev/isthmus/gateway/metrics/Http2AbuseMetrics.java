package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbuseRule;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.SocketAddress;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts and logs the HTTP/2 connections that are closed because the peer exceeded an abuse limit. */
public final class Http2AbuseMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(Http2AbuseMetrics.class);

    private final Map<AbuseRule, Counter> clients;
    private final Map<AbuseRule, Counter> upstreams;

    public Http2AbuseMetrics(MeterRegistry registry) {
        clients = counters(registry, "client");
        upstreams = counters(registry, "upstream");
    }

    public AbuseListener ofClients() {
        return (peer, rule, what) -> closed(clients, "a client", peer, rule, what);
    }

    public AbuseListener ofUpstream(String name) {
        return (peer, rule, what) -> closed(upstreams, "upstream '" + name + "'", peer, rule, what);
    }

    private static Map<AbuseRule, Counter> counters(MeterRegistry registry, String side) {
        return LabelledCounters.of(
                AbuseRule.class,
                rule -> Counter.builder("isthmus.http2.abuse")
                        .description("HTTP/2 connections closed because the peer exceeded an abuse limit")
                        .tag("side", side)
                        .tag("rule", rule.label())
                        .register(registry));
    }

    private static void closed(
            Map<AbuseRule, Counter> counters, String whose, SocketAddress peer, AbuseRule rule, String what) {
        LabelledCounters.increment(counters, rule);
        RepeatingLogEvent.warn(LOG)
                .addKeyValue("peer", peer)
                .addKeyValue("rule", rule.label())
                .log(
                        "HTTP/2 connection of {} {} closed with ENHANCE_YOUR_CALM, {}: {}; if the peer may do so, raise"
                                + " its limit in 'http2_abuse'",
                        whose,
                        peer,
                        rule.label(),
                        what);
    }
}
