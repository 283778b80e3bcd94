package dev.isthmus.gateway.console;

import dev.isthmus.gateway.metrics.CallMetrics;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the meters say at one moment of calls, and of all that can fail. Filled on one thread, then only read.
 *
 * @param nanos when, on the scale of {@link System#nanoTime()}
 * @param models inferences by the route's key
 * @param targets inferences by route and the target that they were sent to
 * @param servers attempts by upstream and server
 * @param callers calls of authenticated callers
 * @param values of counters that are not 0, and of gauges
 */
public record FleetReading(
        long nanos,
        Map<String, CallTotals> models,
        Map<SubjectKey, CallTotals> targets,
        Map<SubjectKey, CallTotals> servers,
        Map<String, CallTotals> callers,
        Map<MeterKey, Double> values) {
    public static final String BREAKER = "isthmus.upstream.breaker.state";
    public static final String CACHE = "isthmus.cache.requests";
    public static final String CERTIFICATE = "isthmus.tls.certificate.expiry";
    public static final String RETRIES = "isthmus.upstream.retries";
    public static final MeterKey SHARED_UP = MeterKey.of("isthmus.shared.up");
    public static final MeterKey SHARED_RECOVERING = MeterKey.of("isthmus.shared.recovering");
    public static final MeterKey STUCK_RUNS = MeterKey.of("isthmus.local.threads.stuck");
    /** Tasks of event loops, and how late they ran together, in milliseconds. */
    public static final MeterKey TASKS = MeterKey.of("isthmus.event.loop.delay");

    public static final MeterKey TASK_MILLIS = new MeterKey("isthmus.event.loop.delay", "", "milliseconds", "");
    /** The time in queues and of tries at servers, without those of copies for shadows and of cancelled calls. */
    static final MeterKey TRY_SECONDS = MeterKey.of("isthmus.upstream.requests");

    static final String UNDER_WAY = "isthmus.model.requests.under.way";
    static final String SERVER_UNDER_WAY = "isthmus.endpoint.under.way";

    public static final FleetReading EMPTY = empty(0);
    private static final Set<String> UNARY = Set.of("infer", "generate");
    private static final Set<String> INFERENCES = Set.of("infer", "generate", "infer_stream", "generate_stream");
    /** The tags that make the key of a counter or gauge. */
    private static final Map<String, List<String>> TAGS = Map.ofEntries(
            Map.entry("isthmus.rate.limited", List.of("model", "limit", "header")),
            Map.entry("isthmus.upstream.rejected", List.of("upstream", "cause")),
            Map.entry(CallMetrics.FAILED, List.of("", "cause")),
            Map.entry("isthmus.memory.refused", List.of()),
            Map.entry(SHARED_UP.meter(), List.of()),
            Map.entry(SHARED_RECOVERING.meter(), List.of()),
            Map.entry(STUCK_RUNS.meter(), List.of()),
            Map.entry(RETRIES, List.of("upstream", "reason")),
            Map.entry(CACHE, List.of("model", "result")),
            Map.entry(UNDER_WAY, List.of("model")),
            Map.entry(SERVER_UNDER_WAY, List.of("upstream", "endpoint")),
            Map.entry(BREAKER, List.of("upstream")),
            Map.entry(CERTIFICATE, List.of("file", "subject")));

    /**
     * A counter or gauge.
     *
     * @param meter its name
     * @param subject the model, upstream or file; empty for the whole gateway
     * @param unit what is counted: what a limit limits, a reason, a result
     * @param scope whose calls a limit counts together
     */
    public record MeterKey(String meter, String subject, String unit, String scope) {
        static MeterKey of(String meter) {
            return new MeterKey(meter, "", "", "");
        }
    }

    /** Goes once through all meters. */
    public static FleetReading of(MeterRegistry registry, long nanos) {
        FleetReading reading = empty(nanos);
        registry.forEachMeter(reading::add);
        return reading;
    }

    private static FleetReading empty(long nanos) {
        return new FleetReading(
                nanos, new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>());
    }

    private void add(Meter meter) {
        switch (meter) {
            case Timer timer -> add(timer);
            case FunctionTimer timer -> add(timer);
            case Counter counter -> add(counter);
            case Gauge gauge -> addValue(gauge, gauge.value());
            default -> {}
        }
    }

    private void add(Timer timer) {
        switch (timer.getId().getName()) {
            case "isthmus.requests" -> {
                if (isInference(timer)) {
                    totals(models, tag(timer, "model"))
                            .add(timer, tag(timer, "code"), UNARY.contains(tag(timer, "operation")));
                }
            }
            case "isthmus.target.answer" ->
                totals(targets, SubjectKey.of(timer, "model", "target")).addTimes(timer);
            case "isthmus.principal.duration" ->
                totals(callers, tag(timer, "principal")).addTimes(timer);
            case "isthmus.upstream.requests" -> {
                // A cancelled call or copy has no response, and so no time until it.
                if (!tag(timer, "outcome").equals("cancelled")) {
                    addTries(timer.totalTime(TimeUnit.SECONDS));
                }
            }
            case "isthmus.upstream.queue.wait" -> addTries(timer.totalTime(TimeUnit.SECONDS));
            case "isthmus.shadow.latency" -> addTries(-timer.totalTime(TimeUnit.SECONDS));
            case "isthmus.event.loop.delay" -> {
                values.merge(TASKS, (double) timer.count(), Double::sum);
                values.merge(TASK_MILLIS, timer.totalTime(TimeUnit.MILLISECONDS), Double::sum);
            }
            default -> {}
        }
    }

    private void addTries(double seconds) {
        values.merge(TRY_SECONDS, seconds, Double::sum);
    }

    private void add(FunctionTimer timer) {
        switch (timer.getId().getName()) {
            case "isthmus.request.phase" -> {
                if (tag(timer, "phase").equals("upstream") && isInference(timer)) {
                    totals(models, tag(timer, "model")).addWaits(timer);
                }
            }
            case "isthmus.endpoint.requests" ->
                totals(servers, SubjectKey.of(timer, "upstream", "endpoint")).addAttempts(timer, tag(timer, "outcome"));
            default -> {}
        }
    }

    private void add(Counter counter) {
        long count = (long) counter.count();
        switch (counter.getId().getName()) {
            case "isthmus.target.requests" ->
                totals(targets, SubjectKey.of(counter, "model", "target")).addTarget(count, tag(counter, "outcome"));
            case "isthmus.principal.requests" ->
                totals(callers, tag(counter, "principal"))
                        .addCaller(count, tag(counter, "result").equals("error"));
            case "isthmus.principal.requests.limited" ->
                totals(callers, tag(counter, "principal")).addLimited(count);
            default -> {
                if (count > 0) {
                    addValue(counter, (double) count);
                }
            }
        }
    }

    private void addValue(Meter meter, double value) {
        List<String> tags = TAGS.get(meter.getId().getName());
        if (tags != null) {
            List<String> key = Stream.concat(
                            tags.stream().map(name -> name.equals("cause") ? cause(meter) : tag(meter, name)),
                            Stream.of("", "", ""))
                    .toList();
            values.merge(new MeterKey(meter.getId().getName(), key.get(0), key.get(1), key.get(2)), value, Double::sum);
        }
    }

    /** What a queue refuses counts together. */
    private static String cause(Meter meter) {
        String cause = tag(meter, "cause");
        return cause.startsWith("queue_") ? "queue" : cause;
    }

    private static boolean isInference(Meter meter) {
        return INFERENCES.contains(tag(meter, "operation"));
    }

    private static <K> CallTotals totals(Map<K, CallTotals> all, K key) {
        return all.computeIfAbsent(key, none -> new CallTotals());
    }

    static String tag(Meter meter, String name) {
        return Objects.requireNonNullElse(meter.getId().getTag(name), "");
    }

    /** The totals of a model; without calls if it has none. */
    CallTotals of(@Nullable String model) {
        CallTotals known = models.get(model);
        return known == null ? new CallTotals() : known;
    }

    CallTotals all() {
        CallTotals all = new CallTotals();
        models.values().forEach(all::add);
        return all;
    }

    /** A model's calls since an earlier reading; a route that was removed and added again begins at 0. */
    public CallTotals model(String model, FleetReading before) {
        return of(model).grownSince(before.models.get(model));
    }

    /** As {@link #model}. */
    public CallTotals server(SubjectKey server, FleetReading before) {
        return servers.getOrDefault(server, new CallTotals()).grownSince(before.servers.get(server));
    }

    /** As {@link #model}. */
    CallTotals target(SubjectKey target, FleetReading before) {
        return targets.getOrDefault(target, new CallTotals()).grownSince(before.targets.get(target));
    }

    /** As {@link #model}. */
    public CallTotals caller(String caller, FleetReading before) {
        return callers.getOrDefault(caller, new CallTotals()).grownSince(before.callers.get(caller));
    }

    /** What was counted since an earlier reading. */
    public long since(MeterKey counter, FleetReading before) {
        double now = values.getOrDefault(counter, 0.0);
        double then = before.values.getOrDefault(counter, 0.0);
        return (long) (then > now ? now : now - then);
    }

    /** The value of a gauge; 0 if there is none. */
    double value(String meter, String subject, String unit) {
        return values.getOrDefault(new MeterKey(meter, subject, unit, ""), 0.0);
    }

    /** Where counters or gauges of this name have a value. */
    public Stream<MeterKey> keys(String meter) {
        return values.keySet().stream().filter(key -> key.meter().equals(meter));
    }
}
