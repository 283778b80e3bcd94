package dev.isthmus.gateway.catalogue;

import java.util.Collection;

/** How many of some servers are ready. */
public record Tally(int ready, int total) {
    public static final Tally NONE = new Tally(0, 0);

    public Tally {
        if (ready < 0 || ready > total) {
            throw new IllegalArgumentException("ready: 0 to " + total + " is expected, got " + ready);
        }
    }

    public static Tally of(Collection<Boolean> states) {
        int ready = (int) states.stream().filter(state -> state).count();
        return new Tally(ready, states.size());
    }

    public Tally plus(Tally other) {
        return new Tally(ready + other.ready, Math.addExact(total, other.total));
    }

    Tally plus(boolean state) {
        return new Tally(state ? ready + 1 : ready, Math.addExact(total, 1));
    }

    @Override
    public String toString() {
        return ready + " of " + total;
    }
}
