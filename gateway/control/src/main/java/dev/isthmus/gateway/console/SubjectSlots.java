package dev.isthmus.gateway.console;

/** The times of the last slots of all subjects; a slot is the same place in the arrays of each. Confined to one thread. */
final class SubjectSlots {
    private final long[] times;
    private long count;

    /** @param most how many slots are kept */
    SubjectSlots(int most) {
        this.times = new long[most];
    }

    int most() {
        return times.length;
    }

    /** The place of the next slot. */
    int next() {
        return (int) (count % times.length);
    }

    /**
     * Ends the next slot.
     *
     * @param time in milliseconds since 1970
     */
    void end(long time) {
        times[next()] = time;
        count++;
    }

    /** The places of the last slots, the oldest first. */
    int[] last(int wanted) {
        int length = (int) Math.min(Math.min(wanted, times.length), count);
        int[] places = new int[length];
        for (int i = 0; i < length; i++) {
            places[i] = (int) ((count - length + i) % times.length);
        }
        return places;
    }

    /** When the slot at a place ended. */
    long time(int place) {
        return times[place];
    }
}
