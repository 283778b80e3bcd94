package dev.isthmus.gateway.catalogue;

import java.util.List;

/**
 * One model, or one version of it, with its state on each server.
 *
 * @param merged the entry for clients
 * @param replicas the servers of every upstream that has it, in the order of the sources
 */
public record IndexedModel(IndexEntry merged, List<ReplicaState> replicas) {

    public IndexedModel {
        replicas = List.copyOf(replicas);
    }
}
