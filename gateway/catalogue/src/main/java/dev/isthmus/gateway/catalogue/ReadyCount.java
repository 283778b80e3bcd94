package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;

/** How many of some servers are ready. */
public record ReadyCount(int ready, int total) {
    public static final ReadyCount NONE = new ReadyCount(0, 0);

    public ReadyCount {
        if (ready < 0 || ready > total) {
            throw new IllegalArgumentException("ready must be from 0 to " + total + ", got " + ready);
        }
    }

    public ReadyCount plus(ReadyCount other) {
        return new ReadyCount(ready + other.ready, Math.addExact(total, other.total));
    }

    ReadyCount plus(boolean state) {
        return new ReadyCount(state ? ready + 1 : ready, Math.addExact(total, 1));
    }

    /** Whether a model is ready, if these are the servers of all its targets. Never without servers. */
    boolean satisfies(ReadyPolicy policy) {
        return switch (policy) {
            case ANY -> ready > 0;
            case ALL -> total > 0 && ready == total;
            case QUORUM -> ready > total / 2;
        };
    }

    @Override
    public String toString() {
        return ready + " of " + total;
    }
}
