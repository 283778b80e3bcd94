package dev.isthmus.gateway.console;

import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.DoubleAdder;
import org.jspecify.annotations.Nullable;

/**
 * What the meters of inferences say at one moment.
 *
 * @param nanos when, on the scale of {@link System#nanoTime()}
 * @param models by the route's key
 * @param targets inferences by route and the target that they were sent to
 * @param servers attempts by upstream and server
 * @param callers calls of authenticated callers
 * @param invalid requests that do not match their model's metadata, by the route's key and by reason
 * @param trySeconds the time in queues and of tries at servers, without those of copies for shadows and of cancelled calls
 */
record TrafficReading(
        long nanos,
        Map<String, CallTotals> models,
        Map<SubjectKey, CallTotals> targets,
        Map<SubjectKey, CallTotals> servers,
        Map<String, CallTotals> callers,
        Map<String, Map<String, Long>> invalid,
        DoubleAdder trySeconds) {
    private static final Set<String> UNARY = Set.of("infer", "generate");
    private static final Set<String> INFERENCES = Set.of("infer", "generate", "infer_stream", "generate_stream");

    /** Goes once through all meters. */
    static TrafficReading of(MeterRegistry registry, long nanos) {
        TrafficReading reading = new TrafficReading(
                nanos,
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new DoubleAdder());
        registry.forEachMeter(reading::add);
        return reading;
    }

    private void add(Meter meter) {
        switch (meter.getId().getName()) {
            case "isthmus.requests" -> {
                if (meter instanceof Timer timer && isInference(meter)) {
                    totals(meter).add(timer, status(tag(meter, "code")), UNARY.contains(tag(meter, "operation")));
                }
            }
            case "isthmus.request.phase" -> {
                if (meter instanceof FunctionTimer phase
                        && tag(meter, "phase").equals("upstream")
                        && isInference(meter)) {
                    totals(meter).addWaits(phase);
                }
            }
            case "isthmus.target.requests" -> {
                if (meter instanceof Counter counter) {
                    totals(targets, meter, "model", "target").addTarget((long) counter.count(), tag(meter, "outcome"));
                }
            }
            case "isthmus.target.answer" -> {
                if (meter instanceof Timer timer) {
                    totals(targets, meter, "model", "target").addTimes(timer);
                }
            }
            case "isthmus.endpoint.requests" -> {
                if (meter instanceof FunctionTimer attempts) {
                    totals(servers, meter, "upstream", "endpoint").addAttempts(attempts, tag(meter, "outcome"));
                }
            }
            case "isthmus.principal.requests" -> {
                if (meter instanceof Counter counter) {
                    caller(meter)
                            .addCaller(
                                    (long) counter.count(), tag(meter, "result").equals("error"));
                }
            }
            case "isthmus.principal.requests.limited" -> {
                if (meter instanceof Counter counter) {
                    caller(meter).addLimited((long) counter.count());
                }
            }
            case "isthmus.principal.duration" -> {
                if (meter instanceof Timer timer) {
                    caller(meter).addTimes(timer);
                }
            }
            case "isthmus.requests.invalid" -> {
                if (meter instanceof Counter counter && counter.count() > 0) {
                    invalid.computeIfAbsent(tag(meter, "model"), model -> new TreeMap<>())
                            .put(tag(meter, "reason"), (long) counter.count());
                }
            }
            case "isthmus.upstream.requests" -> {
                // A cancelled call or copy has no response, and so no time until it.
                if (meter instanceof Timer tries && !tag(meter, "outcome").equals("cancelled")) {
                    trySeconds.add(tries.totalTime(TimeUnit.SECONDS));
                }
            }
            case "isthmus.upstream.queue.wait" -> {
                if (meter instanceof Timer waits) {
                    trySeconds.add(waits.totalTime(TimeUnit.SECONDS));
                }
            }
            case "isthmus.shadow.latency" -> {
                if (meter instanceof Timer copies) {
                    trySeconds.add(-copies.totalTime(TimeUnit.SECONDS));
                }
            }
            default -> {}
        }
    }

    private static boolean isInference(Meter meter) {
        return INFERENCES.contains(tag(meter, "operation"));
    }

    private CallTotals totals(Meter meter) {
        return models.computeIfAbsent(tag(meter, "model"), model -> new CallTotals());
    }

    private CallTotals caller(Meter meter) {
        return callers.computeIfAbsent(tag(meter, "principal"), caller -> new CallTotals());
    }

    private static CallTotals totals(Map<SubjectKey, CallTotals> all, Meter meter, String of, String name) {
        return all.computeIfAbsent(new SubjectKey(tag(meter, of), tag(meter, name)), key -> new CallTotals());
    }

    private static String tag(Meter meter, String name) {
        return Objects.requireNonNullElse(meter.getId().getTag(name), "");
    }

    private static int status(String code) {
        return code.equals("OK") ? 200 : ErrorCode.valueOf(code).httpStatus();
    }

    /** The totals of a model; without calls if it has none. */
    CallTotals of(@Nullable String model) {
        CallTotals known = models.get(model);
        return known == null ? new CallTotals() : known;
    }

    /** The totals of all models. */
    CallTotals all() {
        CallTotals all = new CallTotals();
        models.values().forEach(all::add);
        return all;
    }
}
