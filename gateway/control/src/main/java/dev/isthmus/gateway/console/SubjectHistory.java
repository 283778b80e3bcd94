package dev.isthmus.gateway.console;

import dev.isthmus.gateway.console.SubjectGroup.SubjectSeries;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The traffic of single models, targets, servers and callers: every 10 s of the last 15 minutes, and every minute of the
 * last 6 hours. It is the difference between readings of the meters. Confined to one thread at a time.
 */
final class SubjectHistory {
    /** The seconds of a slot of the shortest range. */
    static final int SECONDS = 10;

    static final int RECENT_SLOTS = TrafficHistory.MINUTES * 60 / SECONDS;
    private static final int SLOTS_OF_MINUTE = 60 / SECONDS;
    private static final double NANOS = 1e9;

    private final SubjectSlots recent = new SubjectSlots(RECENT_SLOTS);
    private final SubjectSlots minutes = new SubjectSlots(TrafficHistory.MOST_MINUTES);
    private final Map<SubjectKind, SubjectGroup> groups = new EnumMap<>(SubjectKind.class);
    private long slots;
    private long lastNanos;
    private long minuteNanos;

    SubjectHistory() {
        for (SubjectKind kind : SubjectKind.values()) {
            groups.put(kind, new SubjectGroup(kind, recent, minutes));
        }
    }

    /** How many bytes all series take at most. */
    static long mostBytes() {
        return Arrays.stream(SubjectKind.values())
                .mapToLong(kind ->
                        (SubjectGroup.MOST + 1L) * SubjectSeries.bytes(kind, RECENT_SLOTS, TrafficHistory.MOST_MINUTES))
                .sum();
    }

    /**
     * Ends a slot.
     *
     * @param earlier a reading of some time before; null if there is none yet
     * @param time in milliseconds since 1970
     */
    void add(FleetReading reading, @Nullable FleetReading earlier, long time) {
        double seconds = slots == 0 ? 0 : (reading.nanos() - lastNanos) / NANOS;
        groups.values().forEach(group -> group.add(reading, earlier, seconds));
        recent.end(time);
        lastNanos = reading.nanos();
        if (slots % SLOTS_OF_MINUTE == 0) {
            double length = slots == 0 ? 0 : (reading.nanos() - minuteNanos) / NANOS;
            groups.values().forEach(group -> group.endMinute(reading, earlier, length));
            minutes.end(time);
            minuteNanos = reading.nanos();
        }
        slots++;
    }

    /**
     * The figures of a subject in each slot of a range, and the subjects of its kind that have figures.
     *
     * @param subject null for all that have no figures of their own, together
     * @param length of the range, in minutes
     */
    Map<String, @Nullable Object> document(SubjectKind kind, @Nullable SubjectKey subject, int length) {
        boolean ofMinutes = length > TrafficHistory.MINUTES;
        SubjectSlots range = ofMinutes ? minutes : recent;
        int[] places = range.last(ofMinutes ? length : length * SLOTS_OF_MINUTE);
        SubjectGroup group = groups.get(kind);
        SubjectSeries series = group == null ? null : group.find(subject);
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("kind", kind.label());
        document.put("found", series != null);
        document.put("interval_seconds", ofMinutes ? 60 : SECONDS);
        List<Long> times = new ArrayList<>();
        Arrays.stream(places).forEach(place -> times.add(range.time(place)));
        document.put("times", series == null ? List.of() : times);
        for (int i = 0; i < kind.figures().size(); i++) {
            document.put(kind.figures().get(i), series == null ? List.of() : series.values(ofMinutes, i, places));
        }
        document.put("most_subjects", SubjectGroup.MOST);
        document.put("subjects", group == null ? List.of() : group.subjects());
        return document;
    }

    /** The times of the last slots of all subjects; a slot is the same place in the arrays of each. Confined to one thread. */
    static final class SubjectSlots {
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
}
