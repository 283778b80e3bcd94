package dev.isthmus.gateway;

import dev.isthmus.gateway.metrics.ConnectionMetrics;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.settings.Connections;
import dev.isthmus.gateway.settings.GatewayConfig;
import io.micrometer.core.instrument.MeterRegistry;

/** What clients' connections may take, out of the configuration. */
final class ConnectionPolicies {
    private ConnectionPolicies() {}

    static ConnectionPolicy of(GatewayConfig config, MeterRegistry meters) {
        Connections told = config.connections();
        ConnectionTimeouts timeouts = new ConnectionTimeouts(
                told.requestHeadersTimeout().toNanos(),
                told.requestBodyTimeout().toNanos(),
                told.minRequestBodyRate(),
                told.streamIdleTimeout().toNanos(),
                told.writeTimeout().toNanos(),
                told.idleTimeout().toNanos(),
                told.http2KeepaliveInterval().toNanos(),
                told.http2KeepaliveTimeout().toNanos());
        return new ConnectionPolicy(
                timeouts,
                told.maxConnections(),
                told.maxConnectionsPerAddress(),
                Math.ceilDiv(config.limits().maxRequests(), 2),
                Math.toIntExact(told.tcpKeepalive().toSeconds()),
                new ConnectionMetrics(meters));
    }
}
