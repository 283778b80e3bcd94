package dev.isthmus.gateway.console;

import dev.isthmus.gateway.console.SubjectHistory.SubjectSlots;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The subjects of a kind: those with the most calls, and all others together. Confined to one thread.
 *
 * <p>While there is room, each new subject has a series. Later one takes the place of another if it has more than twice
 * as many calls per second; the history of that one is lost.
 */
final class SubjectGroup {
    static final int MOST = 50;
    /** How many times as many calls a subject needs to take the place of another, so that they do not change by turns. */
    private static final int MARGIN = 2;

    private final SubjectKind kind;
    private final SubjectSlots recent;
    private final SubjectSlots minutes;
    private final Map<SubjectKey, SubjectSeries> tracked = new HashMap<>();
    private final SubjectSeries others;
    private @Nullable CallTotals before;

    SubjectGroup(SubjectKind kind, SubjectSlots recent, SubjectSlots minutes) {
        this.kind = kind;
        this.recent = recent;
        this.minutes = minutes;
        this.others = series(new CallTotals());
    }

    private SubjectSeries series(CallTotals counted) {
        return new SubjectSeries(kind, recent.most(), minutes.most(), counted);
    }

    /**
     * Writes a slot.
     *
     * @param earlier a reading of some time before; null if there is none yet
     */
    void add(FleetReading reading, @Nullable FleetReading earlier, double seconds) {
        Map<SubjectKey, CallTotals> now = kind.totals(reading);
        Map<SubjectKey, CallTotals> then = earlier == null ? Map.of() : kind.totals(earlier);
        now.forEach((key, totals) -> {
            if (tracked.size() < MOST && !tracked.containsKey(key)) {
                // What is new has no calls of before; what had no place until now begins with the next slot.
                tracked.put(key, series(before == null || then.containsKey(key) ? totals : new CallTotals()));
            }
        });
        CallTotals all = new CallTotals();
        now.values().forEach(all::add);
        CallTotals listed = new CallTotals();
        tracked.forEach((key, series) -> {
            CallTotals calls = series.advance(now.get(key));
            listed.add(calls);
            series.add(calls, recent.next(), seconds);
        });
        CallTotals rest = before == null ? new CallTotals() : all.since(before).since(listed);
        others.add(rest, recent.next(), seconds);
        before = all;
    }

    /** Writes the slot of the minute that ends, then gives places to the subjects with the most calls. */
    void endMinute(FleetReading reading, @Nullable FleetReading earlier, double seconds) {
        tracked.values().forEach(series -> series.endMinute(minutes.next(), seconds));
        others.endMinute(minutes.next(), seconds);
        Map<SubjectKey, CallTotals> now = kind.totals(reading);
        tracked.entrySet()
                .removeIf(each ->
                        !now.containsKey(each.getKey()) && each.getValue().idle());
        if (earlier != null && now.size() > MOST) {
            replace(now, busiest(now, kind.totals(earlier), (reading.nanos() - earlier.nanos()) / 1e9));
        }
    }

    /** A subject with its calls per second. */
    private record RatedSubject(SubjectKey key, double rate) {
        static final Comparator<RatedSubject> BY_RATE = Comparator.comparingDouble(RatedSubject::rate);
    }

    /** Those without a place, the busiest first. */
    private List<RatedSubject> busiest(
            Map<SubjectKey, CallTotals> now, Map<SubjectKey, CallTotals> then, double seconds) {
        List<RatedSubject> busiest = new ArrayList<>();
        now.forEach((key, totals) -> {
            if (!tracked.containsKey(key)) {
                CallTotals earlier = then.get(key);
                long calls = totals.calls() - (earlier == null ? 0 : earlier.calls());
                if (calls > 0 && seconds > 0) {
                    busiest.add(new RatedSubject(key, calls / seconds));
                }
            }
        });
        busiest.sort(RatedSubject.BY_RATE.reversed());
        return busiest;
    }

    private void replace(Map<SubjectKey, CallTotals> now, List<RatedSubject> candidates) {
        List<RatedSubject> quietest = rated();
        for (int i = 0; i < Math.min(candidates.size(), quietest.size()); i++) {
            SubjectKey next = candidates.get(i).key();
            CallTotals counted = now.get(next);
            if (counted == null
                    || candidates.get(i).rate() <= MARGIN * quietest.get(i).rate()) {
                return;
            }
            tracked.remove(quietest.get(i).key());
            tracked.put(next, series(counted));
        }
    }

    /** Those with a place, the one with the fewest calls first. */
    private List<RatedSubject> rated() {
        List<RatedSubject> rated = new ArrayList<>(tracked.size());
        tracked.forEach((key, series) -> rated.add(new RatedSubject(key, series.rate())));
        rated.sort(RatedSubject.BY_RATE.thenComparing(
                each -> each.key().of() + " " + each.key().name(), Comparator.reverseOrder()));
        return rated;
    }

    /** The subjects with a place, the one with the most calls first. */
    List<Map<String, Object>> subjects() {
        return rated().reversed().stream()
                .map(each -> {
                    Map<String, Object> subject = new LinkedHashMap<>();
                    subject.put("of", each.key().of());
                    subject.put("name", each.key().name());
                    return subject;
                })
                .toList();
    }

    /** The series of a subject; of all others if it is null. Null if it has no place. */
    @Nullable
    SubjectSeries find(@Nullable SubjectKey subject) {
        return subject == null ? others : tracked.get(subject);
    }

    /** The figures of one subject in each slot. Confined to one thread. */
    static final class SubjectSeries {
        private final SubjectKind kind;
        private final float[] recent;
        private final float[] minutes;
        private CallTotals before;
        /** The calls of the minute that has not ended. */
        private CallTotals minute = new CallTotals();

        /** @param before what was counted before its first slot */
        SubjectSeries(SubjectKind kind, int recentSlots, int minuteSlots, CallTotals before) {
            this.kind = kind;
            this.before = before;
            this.recent = unknown(kind, recentSlots);
            this.minutes = unknown(kind, minuteSlots);
        }

        private static float[] unknown(SubjectKind kind, int slots) {
            float[] values = new float[slots * kind.figures().size()];
            Arrays.fill(values, Float.NaN);
            return values;
        }

        /** How many bytes the values of a subject take. */
        static int bytes(SubjectKind kind, int recentSlots, int minuteSlots) {
            return (recentSlots + minuteSlots) * kind.figures().size() * Float.BYTES;
        }

        /** The calls since the last reading; null is a subject without meters. */
        CallTotals advance(@Nullable CallTotals now) {
            if (now == null) {
                before = new CallTotals();
                return before;
            }
            CallTotals since = now.since(before);
            before = now;
            return since;
        }

        /** Writes a slot. */
        void add(CallTotals calls, int place, double seconds) {
            write(recent, place, calls, seconds);
            minute.add(calls);
        }

        /** Writes the slot of the minute that ends. */
        void endMinute(int place, double seconds) {
            write(minutes, place, minute, seconds);
            minute = new CallTotals();
        }

        private void write(float[] values, int place, CallTotals calls, double seconds) {
            double[] figures = kind.figures(calls, seconds);
            for (int i = 0; i < figures.length; i++) {
                values[place * figures.length + i] = (float) figures[i];
            }
        }

        /** The mean rate of the last quarter of an hour, in calls per second. */
        double rate() {
            double sum = 0;
            int known = 0;
            for (int i = 0; i < recent.length; i += kind.figures().size()) {
                if (!Float.isNaN(recent[i])) {
                    sum += recent[i];
                    known++;
                }
            }
            return known == 0 ? 0 : sum / known;
        }

        /** Whether there was no call in the whole history. */
        boolean idle() {
            for (int i = 0; i < minutes.length; i += kind.figures().size()) {
                if (minutes[i] > 0) {
                    return false;
                }
            }
            return rate() == 0;
        }

        /** A figure in some slots; null is unknown. */
        List<@Nullable Double> values(boolean ofMinutes, int figure, int[] places) {
            float[] all = ofMinutes ? minutes : recent;
            List<@Nullable Double> values = new ArrayList<>(places.length);
            for (int place : places) {
                values.add(TrafficFigures.rounded(all[place * kind.figures().size() + figure]));
            }
            return values;
        }
    }
}
