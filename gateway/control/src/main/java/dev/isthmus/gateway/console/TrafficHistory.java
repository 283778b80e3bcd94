package dev.isthmus.gateway.console;

import dev.isthmus.gateway.console.SubjectHistory.SubjectKind;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.peers.PeerSummary.PeerModel;
import dev.isthmus.gateway.peers.PeerSummary.PeerTraffic;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The traffic of the last 15 minutes every 5 s, and of the last 6 hours every minute: the meters, read every 5 s. Of all
 * single models the last reading is kept, and two, every 30 s, to compare it with; of the busiest ones a {@link SubjectHistory}. Thread-safe.
 */
public final class TrafficHistory {
    private static final Logger LOG = LoggerFactory.getLogger(TrafficHistory.class);
    static final int SECONDS = 5;
    /** The range with a sample for each reading. */
    static final int MINUTES = 15;
    /** The longest range, with a sample for each minute. */
    static final int MOST_MINUTES = 360;

    static final int SAMPLES = MINUTES * 60 / SECONDS + 1;
    private static final int SAMPLES_OF_MINUTE = 60 / SECONDS;
    /** The samples whose figures are "now": those of one minute. */
    private static final int RECENT = SAMPLES_OF_MINUTE;

    private static final int MODEL_READINGS = 2;
    private static final int MODEL_EVERY = 30 / SECONDS;
    private static final int SUBJECT_EVERY = SubjectHistory.SECONDS / SECONDS;
    private static final double NANOS = 1e9;

    private final MeterRegistry registry;
    private final Supplier<GatewayConfig> config;
    private final LongSupplier memory;
    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final Deque<TrafficSample> samples = new ArrayDeque<>(SAMPLES);
    private final Deque<TrafficSample> minutes = new ArrayDeque<>(MOST_MINUTES + 1);
    private final Deque<FleetReading> readings = new ArrayDeque<>(MODEL_READINGS);
    private final SubjectHistory subjects = new SubjectHistory();
    private volatile @Nullable FleetReading latest;
    /** The reading before the latest. */
    private @Nullable FleetReading before;

    private long count;

    /**
     * The totals at one moment.
     *
     * @param time in milliseconds since 1970
     * @param memory that calls hold, in bytes
     */
    private record TrafficSample(long nanos, long time, CallTotals all, OwnTime own, long memory) {}

    /**
     * @param memory bytes that calls hold
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public TrafficHistory(
            MeterRegistry registry,
            Supplier<GatewayConfig> config,
            LongSupplier memory,
            LongSupplier nanoTime,
            InstantSource clock) {
        this.registry = registry;
        this.config = config;
        this.memory = memory;
        this.nanoTime = nanoTime;
        this.clock = clock;
    }

    /** Begins to read, until the scheduler is shut down. */
    public void start(ScheduledExecutorService scheduler) {
        String fault = "internal error: the traffic cannot be read; please report it";
        Runnable read = RepeatingLogEvent.guarded(LOG, fault, () -> add(reading()));
        scheduler.scheduleWithFixedDelay(read, 0, SECONDS, TimeUnit.SECONDS);
    }

    /** The meters as they are. */
    FleetReading reading() {
        return FleetReading.of(registry, nanoTime.getAsLong());
    }

    /** The last reading, which is {@link #SECONDS} old at most. With many models it takes long to make one. */
    public FleetReading latest() {
        FleetReading last = latest;
        return last == null ? reading() : last;
    }

    /** The last two readings, the older one first; the last one twice if there was none before. */
    synchronized List<FleetReading> lastTwo() {
        FleetReading last = latest();
        return List.of(before == null ? last : before, last);
    }

    synchronized void add(FleetReading reading) {
        before = latest;
        latest = reading;
        TrafficSample sample = new TrafficSample(
                reading.nanos(), clock.millis(), reading.all(), OwnTime.of(reading, config.get()), memory.getAsLong());
        keep(samples, sample, SAMPLES);
        if (count % SAMPLES_OF_MINUTE == 0) {
            keep(minutes, sample, MOST_MINUTES + 1);
        }
        if (count % SUBJECT_EVERY == 0) {
            subjects.add(reading, readings.peekFirst(), sample.time());
        }
        if (count++ % MODEL_EVERY == 0) {
            keep(readings, reading, MODEL_READINGS);
        }
    }

    private static <T> void keep(Deque<T> kept, T next, int most) {
        if (kept.size() == most) {
            kept.removeFirst();
        }
        kept.addLast(next);
    }

    /** The reading with which the meters of single models are compared; null before the first. */
    public synchronized @Nullable FleetReading earlier() {
        return readings.peekFirst();
    }

    /**
     * The inferences since the start, and their rate in the last minute, for other gateways.
     *
     * @param active calls of any kind
     */
    public synchronized PeerTraffic traffic(long active) {
        if (samples.isEmpty()) {
            return new PeerTraffic(active, 0, 0, 0, 0);
        }
        CallTotals all = samples.getLast().all();
        double rate = minute(List.copyOf(samples)).figures().rate();
        return new PeerTraffic(
                active, all.calls(), all.clientErrors(), all.serverErrors(), Double.isFinite(rate) ? rate : 0);
    }

    /** The models with the most inferences since the start, for other gateways. */
    public synchronized List<PeerModel> busiest(int most) {
        if (latest == null) {
            return List.of();
        }
        return latest.models().entrySet().stream()
                .map(each -> new PeerModel(
                        each.getKey(),
                        each.getValue().calls(),
                        each.getValue().clientErrors(),
                        each.getValue().serverErrors()))
                .sorted(Comparator.comparing(PeerModel::calls).reversed().thenComparing(PeerModel::model))
                .limit(most)
                .toList();
    }

    /** The samples of a range, the oldest first. */
    private List<TrafficSample> range(int length) {
        if (length <= MINUTES) {
            return new ArrayList<>(samples);
        }
        return minutes.stream().skip(Math.max(0, minutes.size() - length - 1)).toList();
    }

    /**
     * The figures of the last minute, and those of each sample of a range.
     *
     * @param length of the range, in minutes
     */
    synchronized Map<String, Object> document(int length) {
        List<TrafficSample> all = range(length);
        List<SampleStep> steps = new ArrayList<>(all.size());
        for (int i = 1; i < all.size(); i++) {
            steps.add(SampleStep.of(all.get(i - 1), all.get(i)));
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("interval_seconds", length <= MINUTES ? SECONDS : TimeUnit.MINUTES.toSeconds(1));
        document.put("now", samples.isEmpty() ? Map.of() : now(List.copyOf(samples)));
        document.put("times", all.stream().skip(1).map(TrafficSample::time).toList());
        for (int i = 0; i < TrafficFigures.NAMES.size(); i++) {
            int figure = i;
            document.put(
                    TrafficFigures.NAMES.get(i),
                    series(steps, step -> step.figures().values()[figure]));
        }
        document.put("own_share", series(steps, SampleStep::ownShare));
        document.put("own_seconds", series(steps, SampleStep::ownSeconds));
        document.put("memory", series(steps, SampleStep::memory));
        return document;
    }

    /** The figures of a subject in a range, as {@link SubjectHistory#document}. */
    synchronized Map<String, @Nullable Object> document(SubjectKind kind, @Nullable SubjectKey subject, int length) {
        return subjects.document(kind, subject, length);
    }

    /** From one sample to a later one. */
    private record SampleStep(TrafficFigures figures, double ownShare, double ownSeconds, long memory) {
        static SampleStep of(TrafficSample before, TrafficSample after) {
            return new SampleStep(
                    TrafficFigures.between(before.all(), after.all(), (after.nanos() - before.nanos()) / NANOS),
                    after.own().share(before.own()),
                    after.own().mean(before.own()),
                    after.memory());
        }
    }

    private static SampleStep minute(List<TrafficSample> all) {
        return SampleStep.of(all.get(Math.max(0, all.size() - 1 - RECENT)), all.getLast());
    }

    private static Map<String, @Nullable Object> now(List<TrafficSample> all) {
        SampleStep minute = minute(all);
        Map<String, @Nullable Object> now = new LinkedHashMap<>(minute.figures().document());
        now.put("own_share", TrafficFigures.rounded(minute.ownShare()));
        now.put("own_seconds", TrafficFigures.rounded(minute.ownSeconds()));
        now.put("calls", all.getLast().all().calls());
        return now;
    }

    private static List<@Nullable Double> series(List<SampleStep> steps, ToDoubleFunction<SampleStep> figure) {
        List<@Nullable Double> values = new ArrayList<>(steps.size());
        steps.forEach(step -> values.add(TrafficFigures.rounded(figure.applyAsDouble(step))));
        return values;
    }

    /**
     * The gateway's own part of the time from a complete request to the first response: what is left without the tries at
     * servers and the waits in queues. It has validation, transcoding, waits for a connection, and pauses between tries.
     * Models of the local backend run in the gateway and are left out. Copies for shadows are subtracted with their whole
     * time, which makes the rest a little too long.
     *
     * @param waitSeconds from complete requests to first responses, of models on servers
     * @param waits how many of them
     * @param trySeconds of tries at the servers of these models
     */
    record OwnTime(double waitSeconds, long waits, double trySeconds) {
        private static final String LOCAL = "local";

        static OwnTime of(FleetReading reading, GatewayConfig config) {
            CallTotals remote = new CallTotals();
            reading.models().forEach((model, totals) -> {
                if (!isLocal(model, config)) {
                    remote.addWaitsOf(totals);
                }
            });
            return new OwnTime(
                    remote.waitSeconds(), remote.waits(), reading.values().getOrDefault(FleetReading.TRY_SECONDS, 0.0));
        }

        private static boolean isLocal(String model, GatewayConfig config) {
            ModelConfig configured = config.models().get(model);
            return configured == null
                    ? LOCAL.equals(config.defaultUpstream())
                    : configured.allTargets().stream()
                            .anyMatch(target -> target.upstream().equals(LOCAL));
        }

        /** Its share of the time since an earlier reading, from 0 to 1; NaN without calls. */
        double share(OwnTime before) {
            double waited = waitSeconds - before.waitSeconds;
            return waited <= 0 ? Double.NaN : Math.clamp(own(before) / waited, 0, 1);
        }

        /** Its mean in seconds since an earlier reading; NaN without calls. */
        double mean(OwnTime before) {
            long calls = waits - before.waits;
            return calls <= 0 ? Double.NaN : own(before) / calls;
        }

        private double own(OwnTime before) {
            return Math.max(0, waitSeconds - before.waitSeconds - (trySeconds - before.trySeconds));
        }
    }

    /**
     * What calls did between two readings. NaN is unknown.
     *
     * @param rate calls per second
     * @param clientErrors calls per second that failed with a status from 400 to 498
     * @param serverErrors calls per second that failed with a status of 500 or more
     * @param p50 in seconds, as p95 and p99: of successful calls that are no streams
     */
    record TrafficFigures(double rate, double clientErrors, double serverErrors, double p50, double p95, double p99) {
        static final List<String> NAMES = List.of("rate", "client_errors", "server_errors", "p50", "p95", "p99");
        private static final double MICROS = 1e6;

        /** @param seconds from the earlier to the later reading */
        static TrafficFigures between(CallTotals before, CallTotals after, double seconds) {
            return of(after.since(before), seconds);
        }

        /**
         * The figures of some calls.
         *
         * @param seconds in which they were counted
         */
        static TrafficFigures of(CallTotals calls, double seconds) {
            return new TrafficFigures(
                    rate(calls.calls(), seconds),
                    rate(calls.clientErrors(), seconds),
                    rate(calls.serverErrors(), seconds),
                    calls.percentile(0.5),
                    calls.percentile(0.95),
                    calls.percentile(0.99));
        }

        /** Calls per second. */
        static double rate(long calls, double seconds) {
            return seconds <= 0 ? Double.NaN : calls / seconds;
        }

        /** The figures, in the order of their names. */
        double[] values() {
            return new double[] {rate, clientErrors, serverErrors, p50, p95, p99};
        }

        Map<String, @Nullable Object> document() {
            Map<String, @Nullable Object> document = new LinkedHashMap<>();
            double[] values = values();
            for (int i = 0; i < values.length; i++) {
                document.put(NAMES.get(i), rounded(values[i]));
            }
            return document;
        }

        /** To six decimals; null if it is unknown, which JSON has no number for. */
        static @Nullable Double rounded(double value) {
            return Double.isFinite(value) ? Math.round(value * MICROS) / MICROS : null;
        }
    }
}
