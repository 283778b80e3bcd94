package dev.isthmus.transcoder.rest;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The keys of one object: an array while they are few, as in nearly every object. */
final class KeySet {
    private static final int FEW = 8;

    private final @Nullable String[] few = new @Nullable String[FEW];
    private @Nullable Set<@Nullable String> many;
    private int size;

    /** Adds a key; returns whether it is new. */
    boolean add(String key) {
        if (contains(key)) {
            return false;
        }
        if (size < FEW) {
            few[size] = key;
        } else {
            if (many == null) {
                many = new HashSet<>(Arrays.asList(few));
            }
            many.add(key);
        }
        size++;
        return true;
    }

    boolean contains(String key) {
        if (many != null) {
            return many.contains(key);
        }
        for (int i = 0; i < size; i++) {
            if (key.equals(few[i])) {
                return true;
            }
        }
        return false;
    }

    int size() {
        return size;
    }
}
