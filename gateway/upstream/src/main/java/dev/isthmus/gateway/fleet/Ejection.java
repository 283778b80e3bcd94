package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.ErrorRate;
import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The ejection of one server: it is left out for a while because its calls fail, several in a row, or too many in an
 * interval. Thread-safe; locks only when the server is ejected or recovers.
 */
final class Ejection {
    /** The largest multiple of the base ejection time. */
    private static final int MAX_MULTIPLIER = 10;

    private final Outliers rules;
    private final Object lock;
    private final BooleanSupplier mayEject;
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger successes = new AtomicInteger();
    /** Consecutive ejections, bounded; written under the lock. */
    private volatile int multiplier;
    /** Whether the last ejection was due to the share of failed calls; written under the lock. */
    private volatile boolean forErrorRate;

    private volatile boolean ejected;
    private volatile long until;
    private volatile long count;

    /**
     * Of a server that is not ejected.
     *
     * @param lock shared by the servers of a set
     * @param mayEject whether one more server of the set may be ejected; called under the lock
     */
    Ejection(Outliers rules, Object lock, BooleanSupplier mayEject) {
        this.rules = rules;
        this.lock = lock;
        this.mayEject = mayEject;
    }

    /** Whether one more of these servers may be ejected. */
    static boolean mayEject(List<Replica> replicas, Outliers rules, long now) {
        long ejected = replicas.stream()
                .filter(replica -> replica.ejection().ejected(now))
                .count();
        return replicas.size() > 1 && ejected < Math.max(1, (long) (rules.maxEjected() * replicas.size()));
    }

    boolean ejected(long now) {
        return ejected && until - now > 0;
    }

    /** The number of ejections so far. */
    long count() {
        return count;
    }

    /** When the last ejection ends or ended. */
    long until() {
        return until;
    }

    /**
     * Records a success. As many consecutive successes as failures that eject undo one ejection, unless it was due to
     * the share of failed calls: some succeed then, too.
     */
    void succeeded(long now) {
        if (failures.get() != 0) {
            failures.set(0);
        }
        if (multiplier > 0 && !forErrorRate && successes.incrementAndGet() >= rules.consecutiveFailures()) {
            synchronized (lock) {
                successes.set(0);
                multiplier = Math.max(0, multiplier - 1);
                end(now);
            }
        }
    }

    /** Records that a response ended a row of failures or of successes. */
    void interrupted() {
        if (failures.get() != 0) {
            failures.set(0);
        }
        if (successes.get() != 0) {
            successes.set(0);
        }
    }

    /** Records a failure; true if it ejected the server. */
    boolean failed(long now) {
        int limit = rules.consecutiveFailures();
        if (successes.get() != 0) {
            successes.set(0);
        }
        if (limit == 0 || failures.incrementAndGet() < limit || ejected(now)) {
            return false;
        }
        return eject(now, false);
    }

    /** Records that too many of its calls failed in an interval; true if that ejected the server. */
    boolean failedTooOften(long now) {
        return eject(now, true);
    }

    /** Records an interval in which not too many of its calls failed; it undoes one ejection that was due to that. */
    void passedInterval(long now) {
        if (forErrorRate && multiplier > 0 && !ejected(now)) {
            synchronized (lock) {
                multiplier = Math.max(0, multiplier - 1);
            }
        }
    }

    private boolean eject(long now, boolean errorRate) {
        synchronized (lock) {
            if (ejected(now) || !mayEject.getAsBoolean()) {
                return false;
            }
            forErrorRate = errorRate;
            multiplier = Math.min(multiplier + 1, MAX_MULTIPLIER);
            until = now + rules.ejection().toNanos() * multiplier;
            ejected = true;
            count = count + 1;
            failures.set(0);
            return true;
        }
    }

    /** Ends the ejection: another source reports that the server works again. */
    void lift(long now) {
        synchronized (lock) {
            end(now);
        }
    }

    private void end(long now) {
        failures.set(0);
        if (ejected(now)) {
            until = now;
        }
        ejected = false;
    }

    /**
     * Ejects servers whose calls fail more often than those of the other servers. It compares the counts of calls once an
     * interval, so that calls pay nothing. A fault that all servers share, such as that of a model, ejects none. Runs on one
     * event loop.
     */
    static final class OutlierDetector {
        /** A failing server has at least this many times the share of failed calls of the others. */
        private static final double EXCESS = 2;
        /** Smaller shares are no outliers, however alike the other servers are. */
        private static final double NEGLIGIBLE = 0.05;

        private final ErrorRate rules;
        private final Supplier<List<Replica>> replicas;
        private Map<Replica, ErrorShare> totals = Map.of();

        /**
         * The calls of one server in an interval.
         *
         * @param calls those that are evidence about the server
         * @param failed those that failed or that the server answered with an error of its own
         */
        private record ErrorShare(Replica replica, long calls, long failed) {
            double share() {
                return calls == 0 ? 0 : (double) failed / calls;
            }
        }

        OutlierDetector(ErrorRate rules, Supplier<List<Replica>> replicas) {
            this.rules = rules;
            this.replicas = replicas;
        }

        /** Evaluates periodically, if there is a rule; until the result is closed. */
        PeriodicProbe start(ClusterResources resources) {
            PeriodicProbe probe = new PeriodicProbe(rules.interval(), resources, interval -> {
                evaluate();
                interval.completed();
            });
            if (rules.threshold() > 0 || rules.deviations() > 0) {
                probe.start();
            }
            return probe;
        }

        /** Ends an interval, and ejects its outliers, the worst first. */
        void evaluate() {
            List<ErrorShare> shares = interval();
            if (shares.size() < rules.minimumServers()) {
                return;
            }
            List<ErrorShare> outliers = outliers(shares);
            shares.stream()
                    .filter(each -> !outliers.contains(each))
                    .forEach(each -> each.replica().passedInterval());
            outliers.stream()
                    .sorted(Comparator.comparingDouble(ErrorShare::share).reversed())
                    .forEach(each -> each.replica().ejectForErrors(each.failed(), each.calls()));
        }

        /** The servers that had enough calls since the last time. */
        private List<ErrorShare> interval() {
            List<ErrorShare> shares = new ArrayList<>();
            Map<Replica, ErrorShare> now = new HashMap<>();
            for (Replica replica : replicas.get()) {
                ErrorShare total = total(replica);
                ErrorShare before = totals.getOrDefault(replica, new ErrorShare(replica, 0, 0));
                now.put(replica, total);
                long calls = total.calls() - before.calls();
                if (calls >= rules.minimumCalls()) {
                    shares.add(new ErrorShare(replica, calls, total.failed() - before.failed()));
                }
            }
            totals = now;
            return shares;
        }

        /** Without errors that no other server could have been asked for: there is nothing to compare them with. */
        private static ErrorShare total(Replica replica) {
            long calls = -replica.counts().boundErrors();
            long failed = calls;
            for (CallOutcome outcome : CallOutcome.values()) {
                long count = replica.counts().calls(outcome);
                switch (outcome) {
                    case ANSWERED -> calls += count;
                    case ERROR, UNAVAILABLE, FAILED -> {
                        calls += count;
                        failed += count;
                    }
                    case CANCELLED -> {}
                }
            }
            return new ErrorShare(replica, calls, failed);
        }

        private List<ErrorShare> outliers(List<ErrorShare> shares) {
            long calls = shares.stream().mapToLong(ErrorShare::calls).sum();
            long failed = shares.stream().mapToLong(ErrorShare::failed).sum();
            double limit = deviationLimit(shares);
            return shares.stream()
                    .filter(each -> exceedsOthers(each, calls - each.calls(), failed - each.failed()))
                    .filter(each -> reachesThreshold(each) || (each.share() >= NEGLIGIBLE && each.share() > limit))
                    .toList();
        }

        private static boolean exceedsOthers(ErrorShare each, long otherCalls, long otherFailed) {
            return otherCalls > 0 && each.share() >= EXCESS * otherFailed / otherCalls;
        }

        private boolean reachesThreshold(ErrorShare each) {
            return rules.threshold() > 0 && each.share() >= rules.threshold();
        }

        /** The mean of the shares plus the allowed number of standard deviations. */
        private double deviationLimit(List<ErrorShare> shares) {
            if (rules.deviations() == 0) {
                return Double.POSITIVE_INFINITY;
            }
            double mean =
                    shares.stream().mapToDouble(ErrorShare::share).average().orElse(0);
            double variance = shares.stream()
                    .mapToDouble(each -> (each.share() - mean) * (each.share() - mean))
                    .average()
                    .orElse(0);
            return mean + rules.deviations() * Math.sqrt(variance);
        }
    }
}
