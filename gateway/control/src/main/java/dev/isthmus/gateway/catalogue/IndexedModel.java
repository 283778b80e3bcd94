package dev.isthmus.gateway.catalogue;

import java.util.List;

/**
 * One model, or one version of it, with what each server says of it.
 *
 * @param merged what clients are told
 * @param replicas the servers of every upstream that has it, in the order of the sources
 */
public record IndexedModel(IndexEntry merged, List<ReplicaState> replicas) {

    public IndexedModel {
        replicas = List.copyOf(replicas);
    }
}
