package dev.isthmus.local.repository;

import java.util.Collections;
import java.util.NavigableSet;
import java.util.SortedSet;
import java.util.TreeSet;

/** Which versions of a model are loaded. */
public sealed interface VersionPolicy {

    /** The highest version, as with Triton. */
    VersionPolicy DEFAULT = new Latest(1);

    /** Of those that there are, the ones to load. */
    NavigableSet<Long> select(SortedSet<Long> versions);

    /** The highest so many. */
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

    /** These, whether they are there or not: one that is missing is a failure of its own. */
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
