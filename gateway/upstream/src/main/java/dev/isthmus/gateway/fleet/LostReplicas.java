package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.List;

/**
 * The servers lost while they processed one request: their connection ended, or they timed out and were found not ready
 * afterwards. Used on the event loop of the call.
 */
final class LostReplicas {
    /** From this number on, the request itself is suspected. */
    static final int LIMIT = 2;

    private int connections;
    private List<Replica> timedOut = List.of();

    /** Records an attempt that failed before any response. */
    void failed(Replica server, OipException failure) {
        RetryOn kind = RetryPolicy.kind(failure);
        if (kind == RetryOn.LOST) {
            connections++;
        } else if (kind == RetryOn.TIMEOUT) {
            timedOut = timedOut.isEmpty() ? new ArrayList<>(2) : timedOut;
            timedOut.add(server);
        }
    }

    boolean limitReached() {
        return connections >= LIMIT || (!timedOut.isEmpty() && connections + lostSince() >= LIMIT);
    }

    private long lostSince() {
        return timedOut.stream()
                .filter(server -> server.readiness().server() == ReplicaReadiness.ServerState.NOT_READY)
                .count();
    }
}
