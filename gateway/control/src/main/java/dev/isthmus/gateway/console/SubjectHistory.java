package dev.isthmus.gateway.console;

import dev.isthmus.gateway.console.SubjectHistory.SubjectGroup.SubjectSeries;
import dev.isthmus.gateway.console.TrafficHistory.TrafficFigures;
import dev.isthmus.gateway.net.Labelled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
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

    /**
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
        Arrays.stream(places).forEach(place -> times.add(range.times[place]));
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

        /** The place of the next slot. */
        int next() {
            return (int) (count % times.length);
        }

        /** @param time in milliseconds since 1970 */
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
    }

    /**
     * The subjects of a kind: those with the most calls, and all others together. Confined to one thread.
     *
     * <p>While there is room, each new subject has a series. Later one takes the place of another if it has more than twice
     * as many calls per second; the history of that one is lost.
     */
    static final class SubjectGroup {
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
            return new SubjectSeries(kind, recent.times.length, minutes.times.length, counted);
        }

        /** @param earlier a reading of some time before; null if there is none yet */
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
            CallTotals rest =
                    before == null ? new CallTotals() : all.since(before).since(listed);
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
                    long calls = totals.grownSince(then.get(key)).calls();
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
        List<SubjectKey> subjects() {
            return rated().reversed().stream().map(RatedSubject::key).toList();
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

    /** What the charts of the page Traffic are about, and the figures that the meters have of it. */
    enum SubjectKind implements Labelled {
        /** A route, by its key. */
        MODEL,
        /** A target of a route, which is a version of its model; durations are measured only with a ramp. */
        TARGET,
        /** A server of an upstream: attempts at it. */
        SERVER,
        /** An authenticated caller. */
        CALLER;

        private static final List<String> OF_ATTEMPTS = List.of("rate", "no_response", "server_errors", "mean");
        private static final List<String> OF_CALLS = List.of("rate", "errors", "limited", "p50", "p95", "p99");

        /** The names of the figures. */
        List<String> figures() {
            return switch (this) {
                case MODEL, TARGET -> TrafficFigures.NAMES;
                case SERVER -> OF_ATTEMPTS;
                case CALLER -> OF_CALLS;
            };
        }

        /** What was counted of each subject. */
        Map<SubjectKey, CallTotals> totals(FleetReading reading) {
            return switch (this) {
                case MODEL -> named(reading.models());
                case TARGET -> reading.targets();
                case SERVER -> reading.servers();
                case CALLER -> named(reading.callers());
            };
        }

        private static Map<SubjectKey, CallTotals> named(Map<String, CallTotals> all) {
            Map<SubjectKey, CallTotals> named = HashMap.newHashMap(all.size());
            all.forEach((name, totals) -> named.put(new SubjectKey("", name), totals));
            return named;
        }

        /**
         * The figures, in the order of their names. NaN is unknown.
         *
         * @param seconds in which the calls were counted
         */
        double[] figures(CallTotals calls, double seconds) {
            return switch (this) {
                case MODEL, TARGET -> TrafficFigures.of(calls, seconds).values();
                case SERVER ->
                    new double[] {
                        TrafficFigures.rate(calls.calls(), seconds),
                        TrafficFigures.rate(calls.failed(), seconds),
                        TrafficFigures.rate(calls.serverErrors(), seconds),
                        calls.waits() == 0 ? Double.NaN : calls.waitSeconds() / calls.waits()
                    };
                case CALLER ->
                    new double[] {
                        TrafficFigures.rate(calls.calls(), seconds),
                        TrafficFigures.rate(calls.failed(), seconds),
                        TrafficFigures.rate(calls.limited(), seconds),
                        calls.percentile(0.5),
                        calls.percentile(0.95),
                        calls.percentile(0.99)
                    };
            };
        }
    }
}
