package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.oip.ModelRef;

/** A model on a server. */
record PlacedModel(String upstream, String server, ModelRef model) {
    PlacedModel(ReplicaStatus server, ModelRef model) {
        this(server.upstream(), server.label(), model);
    }
}
