package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The arms of a route and their shares of its calls. Arms are ordered by name and each has a piece of the line from 0 to 1 as
 * long as its share, so that a change of shares moves few keys. The shares can be overridden while calls go on; from any
 * thread, and the last one wins.
 */
public final class WeightedTargets {
    private final List<WeightedTarget> arms;
    private final int[] weights;
    private volatile CurrentWeights shares;

    /** The shares of one moment. */
    private static final class CurrentWeights {
        private final double[] ends;
        private final @Nullable WeightOverride fixed;

        /** @param ends where each arm's piece ends, taken */
        CurrentWeights(double[] ends, @Nullable WeightOverride fixed) {
            this.ends = ends;
            this.fixed = fixed;
        }

        double of(int index) {
            return index == 0 ? ends[0] : ends[index] - ends[index - 1];
        }
    }

    /** A share that an arm has instead of its configured one. */
    public record WeightOverride(String arm, double share) {}

    /** @throws IllegalArgumentException where there is no target or two have one name */
    WeightedTargets(List<ModelConfig.TargetConfig> targets, Function<ModelConfig.TargetConfig, WeightedTarget> arm) {
        List<ModelConfig.TargetConfig> sorted = targets.stream()
                .sorted(Comparator.comparing(ModelConfig.TargetConfig::label))
                .toList();
        this.arms = sorted.stream().map(arm).toList();
        if (arms.stream().map(WeightedTarget::name).distinct().count() != arms.size() || arms.isEmpty()) {
            throw new IllegalArgumentException("targets need names that differ, got "
                    + arms.stream().map(WeightedTarget::name).toList());
        }
        this.weights =
                sorted.stream().mapToInt(ModelConfig.TargetConfig::weight).toArray();
        this.shares = configured();
    }

    /** The arms' names, in order. */
    public List<String> names() {
        return arms.stream().map(WeightedTarget::name).toList();
    }

    /** The share of each arm now, by name, in order. */
    public Map<String, Double> shares() {
        CurrentWeights now = shares;
        Map<String, Double> byName = new LinkedHashMap<>();
        for (int i = 0; i < arms.size(); i++) {
            byName.put(arms.get(i).name(), now.of(i));
        }
        return Collections.unmodifiableMap(byName);
    }

    /**
     * The share of an arm now.
     *
     * @throws IllegalArgumentException for an arm that is none
     */
    public double share(String arm) {
        return shares.of(index(arm));
    }

    /** What replaces the configured shares now; null for nothing. */
    public @Nullable WeightOverride overridden() {
        return shares.fixed;
    }

    /**
     * Gives an arm a share, and the others the rest in their configured proportions: in equal parts where these have no weight.
     * It replaces an earlier override. An only arm keeps everything.
     *
     * @param share from 0 to 1
     * @throws IllegalArgumentException for an arm that is none, or another share
     */
    public void override(String arm, double share) {
        int index = index(arm);
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("a share is from 0 to 1, got " + share);
        }
        double[] wanted = new double[weights.length];
        Arrays.setAll(wanted, i -> i == index ? 0 : weights[i]);
        double rest = Arrays.stream(wanted).sum();
        int others = weights.length - 1;
        for (int i = 0; i < wanted.length; i++) {
            double proportion = rest == 0 ? 1.0 / Math.max(1, others) : wanted[i] / rest;
            wanted[i] = i == index ? share : (1 - share) * proportion;
        }
        shares = new CurrentWeights(ends(wanted), new WeightOverride(arm, share));
    }

    /** Back to the configured shares. */
    public void reset() {
        shares = configured();
    }

    int size() {
        return arms.size();
    }

    List<WeightedTarget> arms() {
        return arms;
    }

    /** The arm whose piece of the line this hash or random number is in. */
    WeightedTarget at(long hash) {
        return arms.get(index(shares.ends, StickyHash.unit(hash)));
    }

    /** Of the piece that a point is in. */
    private static int index(double[] ends, double point) {
        int index = 0;
        while (point >= ends[index]) {
            index++;
        }
        return index;
    }

    /** The same among the arms for a version, in the proportions of their shares: in equal parts where these have none. */
    WeightedTarget at(long hash, @Nullable RequestedVersion version) {
        if (version == null) {
            return at(hash);
        }
        CurrentWeights now = shares;
        double total = total(now, version);
        double left = StickyHash.unit(hash) * (total == 0 ? count(version) : total);
        WeightedTarget last = arms.get(0);
        for (int i = 0; i < arms.size() && left >= 0; i++) {
            double share = total == 0 ? 1 : now.of(i);
            if (version.isAmong(arms.get(i)) && share > 0) {
                last = arms.get(i);
                left -= share;
            }
        }
        return last;
    }

    /** The share of an arm now among the arms for a version, as {@link #at(long, RequestedVersion)} has it. */
    double share(WeightedTarget arm, @Nullable RequestedVersion version) {
        CurrentWeights now = shares;
        double share = now.of(index(arm.name()));
        if (version == null) {
            return share;
        }
        double total = total(now, version);
        return !version.isAmong(arm) ? 0 : total == 0 ? 1.0 / count(version) : share / total;
    }

    /** Whether a stream that was given an arm stays on it: as long as the arm has a share, or no other one has. */
    boolean keeps(WeightedTarget arm, @Nullable RequestedVersion version) {
        CurrentWeights now = shares;
        boolean hasShare = now.of(index(arm.name())) > 0;
        return version == null ? hasShare : version.isAmong(arm) && (hasShare || total(now, version) == 0);
    }

    private double total(CurrentWeights now, RequestedVersion version) {
        double total = 0;
        for (int i = 0; i < arms.size(); i++) {
            total += version.isAmong(arms.get(i)) ? now.of(i) : 0;
        }
        return total;
    }

    private long count(RequestedVersion version) {
        return arms.stream().filter(version::isAmong).count();
    }

    /** The arm of this name. */
    @Nullable
    WeightedTarget named(String name) {
        for (WeightedTarget arm : arms) {
            if (arm.name().equals(name)) {
                return arm;
            }
        }
        return null;
    }

    /** The arm that goes to this place. */
    @Nullable
    WeightedTarget at(WeightedTarget.TargetFactory place) {
        for (WeightedTarget arm : arms) {
            if (arm.place().equals(place)) {
                return arm;
            }
        }
        return null;
    }

    private int index(String name) {
        for (int i = 0; i < arms.size(); i++) {
            if (arms.get(i).name().equals(name)) {
                return i;
            }
        }
        throw new IllegalArgumentException("no target is named '" + name + "', but " + names());
    }

    private CurrentWeights configured() {
        double[] wanted = Arrays.stream(weights).asDoubleStream().toArray();
        return new CurrentWeights(ends(wanted), null);
    }

    /** The ends of the pieces; all are equal where nothing has a weight. The last piece ends at 1 whatever was rounded. */
    private static double[] ends(double[] wanted) {
        double total = Arrays.stream(wanted).sum();
        double[] ends = new double[wanted.length];
        double sum = 0;
        int last = 0;
        for (int i = 0; i < ends.length; i++) {
            double weight = total == 0 ? 1 : wanted[i];
            sum += weight;
            ends[i] = sum / (total == 0 ? ends.length : total);
            last = weight > 0 ? i : last;
        }
        Arrays.fill(ends, last, ends.length, 1);
        return ends;
    }
}
