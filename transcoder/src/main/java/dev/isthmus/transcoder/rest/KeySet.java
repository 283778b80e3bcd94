package dev.isthmus.transcoder.rest;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The keys of one object: bits while they are those of the protocol, as in nearly every object. */
final class KeySet {
    private static final Map<String, Long> BITS = new HashMap<>();

    static {
        String frequent = "id inputs outputs parameters model_name model_version name shape datatype data";
        for (String key : frequent.split(" ", -1)) {
            BITS.put(key, 1L << BITS.size());
        }
    }

    private long frequent;
    private @Nullable Set<String> others;

    /** Adds a key; returns whether it is new. */
    boolean add(String key) {
        Long bit = BITS.get(key);
        if (bit == null) {
            others = others == null ? new HashSet<>() : others;
            return others.add(key);
        }
        boolean added = (frequent & bit) == 0;
        frequent |= bit;
        return added;
    }

    boolean contains(String key) {
        Long bit = BITS.get(key);
        return bit == null ? others != null && others.contains(key) : (frequent & bit) != 0;
    }

    int size() {
        return Long.bitCount(frequent) + (others == null ? 0 : others.size());
    }
}
