package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.logging.ProcessLog;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The end of the process: the first signal drains the gateway and exits with 0, the second one ends it at once. */
final class ProcessTermination {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessTermination.class);
    private static final String SIGTERM = "SIGTERM";
    /** 128 and the number of the signal, as shells report a process that a signal ended. */
    private static final int KILLED_BY_TERM = 143;

    private static final int KILLED_BY_INT = 130;

    private final Gateway gateway;
    private final AtomicBoolean signalled = new AtomicBoolean();

    ProcessTermination(Gateway gateway) {
        this.gateway = gateway;
    }

    /** Handles SIGTERM or SIGINT; blocks until the process exits. */
    void signal(String name) {
        boolean term = name.equals(SIGTERM);
        if (signalled.getAndSet(true)) {
            LOG.warn("{}, the second signal: ending at once", name);
            ProcessLog.ofProcess().ifPresent(ProcessLog::flush);
            Runtime.getRuntime().halt(term ? KILLED_BY_TERM : KILLED_BY_INT);
        }
        // SIGINT comes from a terminal, where no load balancer watches the readiness.
        drain(name, term);
        System.exit(0);
    }

    /** Handles an exit for any other reason, or a signal if signals cannot be handled. */
    void exit() {
        drain("the process exits", true);
    }

    private void drain(String why, boolean delayed) {
        try {
            gateway.drain(why, delayed);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            gateway.stop(why + ", interrupted");
        }
    }
}
