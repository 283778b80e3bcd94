package dev.isthmus.gateway.ingress;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * How many client connections the process may have open, by its limit of open files. Without a share for itself and for
 * its servers, clients that only connect could keep it from reaching any server.
 */
final class OpenFileLimit {
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
