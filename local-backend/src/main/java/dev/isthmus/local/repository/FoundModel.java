package dev.isthmus.local.repository;

import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * A model of the repository, as its files are now.
 *
 * @param sources the versions that are to be loaded
 * @param refused the versions that should be loaded and cannot, with the reason
 * @param warmUps its own; empty: one of zeros
 */
public record FoundModel(
        String name,
        ModelSettings settings,
        NavigableMap<Long, ModelSource> sources,
        NavigableMap<Long, String> refused,
        List<WarmUpRequest> warmUps) {

    public FoundModel {
        sources = Collections.unmodifiableNavigableMap(new TreeMap<>(sources));
        refused = Collections.unmodifiableNavigableMap(new TreeMap<>(refused));
        warmUps = List.copyOf(warmUps);
    }
}
