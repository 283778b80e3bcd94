package dev.isthmus.gateway.console;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The figures of one subject in each slot. Confined to one thread. */
final class SubjectSeries {
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
