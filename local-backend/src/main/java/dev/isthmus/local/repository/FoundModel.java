package dev.isthmus.local.repository;

import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * A model of the repository, read from its current files.
 *
 * @param sources the versions to load
 * @param refused the versions that cannot be loaded, with the reason
 * @param warmUps the configured warm-up requests; empty for one of zeros
 */
public record FoundModel(
        NavigableMap<Long, ModelSource> sources, NavigableMap<Long, String> refused, List<WarmUpRequest> warmUps) {

    public FoundModel {
        sources = Collections.unmodifiableNavigableMap(new TreeMap<>(sources));
        refused = Collections.unmodifiableNavigableMap(new TreeMap<>(refused));
        warmUps = List.copyOf(warmUps);
    }
}
