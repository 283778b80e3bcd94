package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.List;

/**
 * The servers that were lost while they had one request: their connection ended, or they did not answer in time and were found
 * not ready afterwards. Lives on the event loop of the call.
 */
final class LostReplicas {
    /** So many may have died of the request itself. */
    static final int ENOUGH = 2;

    private int connections;
    private List<Replica> late = List.of();

    /** A try has failed before any answer. */
    void failed(Replica server, OipException failure) {
        RetryOn kind = RetryPolicy.kind(failure);
        if (kind == RetryOn.LOST) {
            connections++;
        } else if (kind == RetryOn.TIMEOUT) {
            late = late.isEmpty() ? new ArrayList<>(2) : late;
            late.add(server);
        }
    }

    boolean enough() {
        return connections >= ENOUGH || (!late.isEmpty() && connections + lostSince() >= ENOUGH);
    }

    private long lostSince() {
        return late.stream()
                .filter(server -> server.readiness().server() == ReplicaReadiness.ServerState.NOT_READY)
                .count();
    }
}
