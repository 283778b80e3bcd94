package dev.isthmus.gateway.ingress;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.settings.Connections;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.lang.management.ManagementFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Configured limits and timeouts of client connections. Thread-safe. */
public final class ConnectionPolicies {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionPolicies.class);

    private final ConnectionEvents events;
    /** The {@code max_connections} that the process was last found not to have files for; 0 if it has. */
    private int unreachable;

    /** @param events told of each connection */
    public ConnectionPolicies(ConnectionEvents events) {
        this.events = events;
    }

    synchronized ConnectionPolicy of(GatewayConfig config) {
        Connections settings = config.connections();
        ConnectionTimeouts timeouts = new ConnectionTimeouts(
                settings.requestHeadersTimeout().toNanos(),
                settings.requestBodyTimeout().toNanos(),
                settings.minRequestBodyRate(),
                settings.streamIdleTimeout().toNanos(),
                settings.writeTimeout().toNanos(),
                settings.idleTimeout().toNanos(),
                settings.http2KeepaliveInterval().toNanos(),
                settings.http2KeepaliveTimeout().toNanos());
        return new ConnectionPolicy(
                timeouts,
                maxConnections(settings.maxConnections()),
                settings.maxConnectionsPerAddress(),
                Math.ceilDiv(config.limits().maxRequests(), 2),
                Math.toIntExact(settings.tcpKeepalive().toSeconds()),
                events);
    }

    private int maxConnections(int configured) {
        long files = OpenFileLimit.ofProcess();
        int possible = OpenFileLimit.connections(files);
        int before = unreachable;
        unreachable = possible < configured ? configured : 0;
        if (unreachable != 0 && unreachable != before) {
            LOG.warn(
                    "at most {} client connections instead of 'max_connections' {}: the process may open {} files; raise "
                            + "its limit (ulimit -n, LimitNOFILE) to {} or more",
                    possible,
                    configured,
                    files,
                    OpenFileLimit.files(configured));
        }
        return Math.min(possible, configured);
    }

    /**
     * How many client connections the process may have open, by its limit of open files. Without a share for itself and for
     * its servers, clients that only connect could keep it from reaching any server.
     */
    static final class OpenFileLimit {
        /** Files of the process itself: libraries, event loops, listeners, logs. */
        private static final int OWN = 200;

        private OpenFileLimit() {}

        /** The limit of open files of this process; {@link Long#MAX_VALUE} if the system has none. */
        static long ofProcess() {
            return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                    ? unix.getMaxFileDescriptorCount()
                    : Long.MAX_VALUE;
        }

        /** The number of client connections that a limit of open files leaves room for, which is at least 16. */
        static int connections(long files) {
            long clients = (files - OWN) / 4 * 3;
            return Math.clamp(clients, 16, Integer.MAX_VALUE);
        }

        /** The limit of open files that leaves room for so many client connections. */
        static long files(int connections) {
            return OWN + Math.ceilDiv(connections, 3) * 4L;
        }
    }
}
