package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The targets of a route and their shares of its calls. Targets are ordered by name and each has an interval of [0, 1)
 * as long as its share, so that a change of shares moves few keys. Shares can be overridden at any time, from any
 * thread; the last override wins.
 */
public final class WeightedTargets {
    private final List<WeightedTarget> arms;
    private final int[] weights;
    /** The upper ends of the targets' intervals; replaced, never changed. */
    private volatile double[] ends;

    /** @throws IllegalArgumentException if there is no target, or two have the same name */
    WeightedTargets(List<ModelConfig.TargetConfig> targets, Function<ModelConfig.TargetConfig, WeightedTarget> arm) {
        List<ModelConfig.TargetConfig> sorted = targets.stream()
                .sorted(Comparator.comparing(ModelConfig.TargetConfig::label))
                .toList();
        this.arms = sorted.stream().map(arm).toList();
        if (arms.stream().map(WeightedTarget::name).distinct().count() != arms.size() || arms.isEmpty()) {
            throw new IllegalArgumentException("targets must have distinct names, got "
                    + arms.stream().map(WeightedTarget::name).toList());
        }
        this.weights =
                sorted.stream().mapToInt(ModelConfig.TargetConfig::weight).toArray();
        this.ends = ends(Arrays.stream(weights).asDoubleStream().toArray());
    }

    /** The targets' names, in order. */
    public List<String> names() {
        return arms.stream().map(WeightedTarget::name).toList();
    }

    /** The current share of a target; throws IllegalArgumentException for an unknown one. */
    public double share(String arm) {
        return share(ends, index(arm));
    }

    private static double share(double[] ends, int index) {
        return index == 0 ? ends[0] : ends[index] - ends[index - 1];
    }

    /**
     * Sets a target's share; the others divide the rest in their configured proportions, or equally if they have no
     * weight. Replaces an earlier override. A single target keeps everything.
     *
     * @param share from 0 to 1
     * @throws IllegalArgumentException for an unknown target or an invalid share
     */
    public void override(String arm, double share) {
        int index = index(arm);
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("share must be from 0 to 1, got " + share);
        }
        double[] newWeights = new double[weights.length];
        Arrays.setAll(newWeights, i -> i == index ? 0 : weights[i]);
        double rest = Arrays.stream(newWeights).sum();
        for (int i = 0; i < newWeights.length; i++) {
            double proportion = rest == 0 ? 1.0 / (weights.length - 1) : newWeights[i] / rest;
            newWeights[i] = i == index ? share : (1 - share) * proportion;
        }
        ends = ends(newWeights);
    }

    List<WeightedTarget> arms() {
        return arms;
    }

    /**
     * The target whose interval contains this hash or random number; among the targets for a version in proportion to
     * their shares, or equally if all are 0.
     */
    WeightedTarget at(long hash, @Nullable RequestedVersion version) {
        double[] now = ends;
        double total = total(now, version);
        double remaining = StickyHash.unit(hash) * (total == 0 ? count(version) : total);
        WeightedTarget last = arms.get(0);
        for (int i = 0; i < arms.size() && remaining >= 0; i++) {
            double share = total == 0 ? 1 : share(now, i);
            if (isCandidate(arms.get(i), version) && share > 0) {
                last = arms.get(i);
                remaining -= share;
            }
        }
        return last;
    }

    /** The current share of a target among the targets for a version, as in {@link #at(long, RequestedVersion)}. */
    double share(WeightedTarget arm, @Nullable RequestedVersion version) {
        double[] now = ends;
        double total = total(now, version);
        double share = share(now, index(arm.name()));
        return !isCandidate(arm, version) ? 0 : total == 0 ? 1.0 / count(version) : share / total;
    }

    /** Whether a stream stays on its target: as long as the target has a share, or no other one has. */
    boolean keeps(WeightedTarget arm, @Nullable RequestedVersion version) {
        double[] now = ends;
        return isCandidate(arm, version) && (share(now, index(arm.name())) > 0 || total(now, version) == 0);
    }

    private static boolean isCandidate(WeightedTarget arm, @Nullable RequestedVersion version) {
        return version == null || version.isCandidate(arm);
    }

    /** All shares together are 1: {@code at} gives what a rounding leaves to the last target that has a share. */
    private double total(double[] now, @Nullable RequestedVersion version) {
        double total = 0;
        for (int i = 0; i < arms.size() && version != null; i++) {
            total += version.isCandidate(arms.get(i)) ? share(now, i) : 0;
        }
        return version == null ? 1 : total;
    }

    private long count(@Nullable RequestedVersion version) {
        return arms.stream().filter(arm -> isCandidate(arm, version)).count();
    }

    @Nullable
    WeightedTarget named(String name) {
        for (WeightedTarget arm : arms) {
            if (arm.name().equals(name)) {
                return arm;
            }
        }
        return null;
    }

    @Nullable
    WeightedTarget at(WeightedTarget.Destination destination) {
        for (WeightedTarget arm : arms) {
            if (arm.destination().equals(destination)) {
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
        throw new IllegalArgumentException("unknown target '" + name + "', expected one of " + names());
    }

    /** The ends of the intervals, of which the last may miss 1 by a rounding; all are equal if no target has a weight. */
    private static double[] ends(double[] newWeights) {
        double total = Arrays.stream(newWeights).sum();
        double[] ends = new double[newWeights.length];
        double sum = 0;
        for (int i = 0; i < ends.length; i++) {
            sum += total == 0 ? 1 : newWeights[i];
            ends[i] = sum / (total == 0 ? ends.length : total);
        }
        return ends;
    }
}
