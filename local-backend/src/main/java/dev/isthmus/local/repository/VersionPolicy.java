package dev.isthmus.local.repository;

import java.util.Collections;
import java.util.NavigableSet;
import java.util.SortedSet;
import java.util.TreeSet;

/** Selects the versions of a model to load. */
public sealed interface VersionPolicy {

    /** The highest version, as in Triton. */
    VersionPolicy DEFAULT = new Latest(1);

    /** The versions to load, given the existing ones. */
    NavigableSet<Long> select(SortedSet<Long> versions);

    /** The {@code count} highest versions. */
    record Latest(int count) implements VersionPolicy {

        public Latest {
            if (count < 1) {
                throw new IllegalArgumentException("a number of versions from 1 on is expected, got " + count);
            }
        }

        @Override
        public NavigableSet<Long> select(SortedSet<Long> versions) {
            NavigableSet<Long> highest = new TreeSet<>(versions);
            while (highest.size() > count) {
                highest.pollFirst();
            }
            return highest;
        }
    }

    record All() implements VersionPolicy {

        @Override
        public NavigableSet<Long> select(SortedSet<Long> versions) {
            return new TreeSet<>(versions);
        }
    }

    /** These versions, whether or not they exist; a missing one fails. */
    record Specific(SortedSet<Long> versions) implements VersionPolicy {

        public Specific {
            versions = Collections.unmodifiableSortedSet(new TreeSet<>(versions));
        }

        @Override
        public NavigableSet<Long> select(SortedSet<Long> all) {
            return new TreeSet<>(versions);
        }
    }
}
