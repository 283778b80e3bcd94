package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Instant;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the meters say at one moment of all that can fail. Filled on one thread, then only read.
 *
 * @param models inferences by route
 * @param servers attempts by server
 * @param counters what else is counted: calls that a limit has refused, retries, look-ups in caches, delays of event loops
 * @param callers calls of authenticated callers
 * @param certificates when they expire
 * @param openBreakers upstreams whose circuit breaker is open
 * @param lostStores names of shared stores that are not used, as they do not answer; at most one
 * @param recoveringStores those of them that answer again, but not for long enough
 */
record MeterReading(
        Map<String, ModelCalls> models,
        Map<ServerKey, ServerAttempts> servers,
        Map<CounterKey, Long> counters,
        Map<String, CallerCalls> callers,
        Map<CertificateKey, Instant> certificates,
        Set<String> openBreakers,
        Set<String> lostStores,
        Set<String> recoveringStores) {
    private static final Set<String> INFERENCES = Set.of("infer", "generate", "infer_stream", "generate_stream");
    private static final int BREAKER_OPEN = 2;
    static final String RETRIES = "isthmus.upstream.retries";
    static final String CACHE = "isthmus.cache.requests";
    private static final String LOOP_DELAY = "isthmus.event.loop.delay";
    /** Tasks of event loops, and how late they ran together. */
    static final CounterKey TASKS = new CounterKey(LOOP_DELAY, "", "tasks", "");

    static final CounterKey TASK_MILLIS = new CounterKey(LOOP_DELAY, "", "milliseconds", "");
    static final MeterReading EMPTY = empty();

    record ServerKey(String upstream, String server) {
        static ServerKey of(ReplicaStatus server) {
            return new ServerKey(server.upstream(), server.label());
        }
    }

    /**
     * A counter that is not 0.
     *
     * @param meter its name
     * @param subject the model or upstream; empty for the whole gateway
     * @param unit what is counted: what a limit limits, a reason, a result
     * @param scope whose calls a limit counts together
     */
    record CounterKey(String meter, String subject, String unit, String scope) {}

    record CertificateKey(String file, String subject) {}

    /** Inferences of a model: all, those that failed because of servers or the gateway, and because of their clients. */
    static final class ModelCalls {
        private long calls;
        /** Most models have none. */
        private Map<ErrorCode, Long> failures = Map.of();

        private long mistakes;

        private void add(String label, long count) {
            calls += count;
            if (count == 0 || label.equals("OK")) {
                return;
            }
            ErrorCode code = ErrorCode.valueOf(label);
            if (code.httpStatus() >= 500) {
                if (failures.isEmpty()) {
                    failures = new EnumMap<>(ErrorCode.class);
                }
                failures.merge(code, count, Long::sum);
            } else if (code != ErrorCode.CANCELLED && code != ErrorCode.RESOURCE_EXHAUSTED) {
                mistakes += count;
            }
        }

        long calls() {
            return calls;
        }

        Map<ErrorCode, Long> failures() {
            return failures;
        }
    }

    /**
     * Attempts at a server.
     *
     * @param failed without a valid response
     * @param errors answered with 5xx
     * @param seconds until the first response, of those that were answered otherwise
     */
    record ServerAttempts(long all, long failed, long errors, double seconds) {
        static final ServerAttempts NONE = new ServerAttempts(0, 0, 0, 0);

        private static ServerAttempts of(String outcome, long count, double seconds) {
            return switch (outcome) {
                case "cancelled" -> NONE;
                case "failed" -> new ServerAttempts(count, count, 0, 0);
                case "error", "unavailable" -> new ServerAttempts(count, 0, count, 0);
                default -> new ServerAttempts(count, 0, 0, seconds);
            };
        }

        ServerAttempts plus(ServerAttempts other) {
            return new ServerAttempts(
                    all + other.all, failed + other.failed, errors + other.errors, seconds + other.seconds);
        }

        /** Those since an earlier reading; a server that was removed and added again begins at 0. */
        ServerAttempts since(ServerAttempts before) {
            return all < before.all
                    ? this
                    : new ServerAttempts(
                            all - before.all,
                            Math.max(0, failed - before.failed),
                            Math.max(0, errors - before.errors),
                            Math.max(0, seconds - before.seconds));
        }

        long bad() {
            return failed + errors;
        }

        double share() {
            return all == 0 ? 0 : (double) bad() / all;
        }

        long answered() {
            return all - bad();
        }

        /** The mean time until the first response. */
        double mean() {
            return answered() == 0 ? 0 : seconds / answered();
        }
    }

    /**
     * Calls of a caller.
     *
     * @param limited that were refused because of a limit
     * @param failed that have failed for any reason
     */
    record CallerCalls(long all, long limited, long failed) {
        CallerCalls plus(CallerCalls other) {
            return new CallerCalls(all + other.all, limited + other.limited, failed + other.failed);
        }

        CallerCalls since(@Nullable CallerCalls before) {
            return before == null
                    ? this
                    : new CallerCalls(all - before.all, limited - before.limited, failed - before.failed);
        }
    }

    /** Goes once through all meters. */
    static MeterReading of(MeterRegistry registry) {
        MeterReading reading = empty();
        registry.forEachMeter(reading::add);
        return reading;
    }

    private static MeterReading empty() {
        return new MeterReading(
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashSet<>(),
                new HashSet<>(),
                new HashSet<>());
    }

    private void add(Meter meter) {
        switch (meter) {
            case Timer timer -> add(timer);
            case FunctionTimer timer -> add(timer);
            case Counter counter -> add(counter);
            case Gauge gauge -> add(gauge);
            default -> {}
        }
    }

    private void add(Timer timer) {
        if (timer.getId().getName().equals("isthmus.requests") && INFERENCES.contains(tag(timer, "operation"))) {
            models.computeIfAbsent(tag(timer, "model"), model -> new ModelCalls())
                    .add(tag(timer, "code"), timer.count());
        } else if (timer.getId().getName().equals(LOOP_DELAY)) {
            add(TASKS, timer.count());
            add(TASK_MILLIS, (long) timer.totalTime(TimeUnit.MILLISECONDS));
        }
    }

    private void add(FunctionTimer timer) {
        if (timer.getId().getName().equals("isthmus.endpoint.requests")) {
            servers.merge(
                    new ServerKey(tag(timer, "upstream"), tag(timer, "endpoint")),
                    ServerAttempts.of(tag(timer, "outcome"), (long) timer.count(), timer.totalTime(TimeUnit.SECONDS)),
                    ServerAttempts::plus);
        }
    }

    private void add(Counter counter) {
        String name = counter.getId().getName();
        long count = (long) counter.count();
        switch (name) {
            case "isthmus.rate.limited" ->
                add(new CounterKey(name, tag(counter, "model"), tag(counter, "limit"), tag(counter, "header")), count);
            case "isthmus.upstream.rejected", RETRIES ->
                add(new CounterKey(name, tag(counter, "upstream"), tag(counter, "reason"), ""), count);
            case CACHE -> add(new CounterKey(name, tag(counter, "model"), tag(counter, "result"), ""), count);
            case "isthmus.requests.shed", "isthmus.principal.requests.shed", "isthmus.memory.refused" ->
                add(new CounterKey(name, "", "", ""), count);
            case "isthmus.principal.requests.limited" ->
                callers.merge(tag(counter, "principal"), new CallerCalls(0, count, 0), CallerCalls::plus);
            case "isthmus.principal.requests" ->
                callers.merge(
                        tag(counter, "principal"),
                        new CallerCalls(count, 0, tag(counter, "result").equals("error") ? count : 0),
                        CallerCalls::plus);
            default -> {}
        }
    }

    private void add(CounterKey key, long count) {
        if (count > 0) {
            counters.merge(key, count, Long::sum);
        }
    }

    private void add(Gauge gauge) {
        switch (gauge.getId().getName()) {
            case "isthmus.upstream.breaker.state" -> {
                if (gauge.value() == BREAKER_OPEN) {
                    openBreakers.add(tag(gauge, "upstream"));
                }
            }
            case "isthmus.shared.up" -> {
                if (gauge.value() == 0) {
                    lostStores.add("redis");
                }
            }
            case "isthmus.shared.recovering" -> {
                if (gauge.value() == 1) {
                    recoveringStores.add("redis");
                }
            }
            case "isthmus.tls.certificate.expiry" ->
                certificates.put(
                        new CertificateKey(tag(gauge, "file"), tag(gauge, "subject")),
                        Instant.ofEpochSecond((long) gauge.value()));
            default -> {}
        }
    }

    private static String tag(Meter meter, String name) {
        return Objects.requireNonNullElse(meter.getId().getTag(name), "");
    }

    /** The attempts at a server since an earlier reading. */
    ServerAttempts attempts(ServerKey server, MeterReading before) {
        return servers.getOrDefault(server, ServerAttempts.NONE)
                .since(before.servers.getOrDefault(server, ServerAttempts.NONE));
    }

    /** The number of attempts at the servers of an upstream since an earlier reading. */
    long attempts(String upstream, MeterReading before) {
        return servers.keySet().stream()
                .filter(server -> server.upstream().equals(upstream))
                .mapToLong(server -> attempts(server, before).all())
                .sum();
    }

    /** The calls of a model since an earlier reading; a route that was removed and added again begins at 0. */
    long calls(String model, MeterReading before) {
        ModelCalls now = models.get(model);
        ModelCalls then = before.models.get(model);
        long all = now == null ? 0 : now.calls;
        return then == null || then.calls > all ? all : all - then.calls;
    }

    /** The failed calls of a model since an earlier reading, by error. */
    Map<ErrorCode, Long> failures(String model, MeterReading before) {
        ModelCalls now = models.get(model);
        if (now == null || now.failures.isEmpty()) {
            return Map.of();
        }
        ModelCalls then = before.models.get(model);
        Map<ErrorCode, Long> earlier = then == null || then.calls > now.calls ? Map.of() : then.failures;
        Map<ErrorCode, Long> since = new EnumMap<>(ErrorCode.class);
        now.failures.forEach((code, count) -> {
            long more = count - earlier.getOrDefault(code, 0L);
            if (more > 0) {
                since.put(code, more);
            }
        });
        return since;
    }

    /** The calls of a model since an earlier reading that failed because of their clients. */
    long mistakes(String model, MeterReading before) {
        ModelCalls now = models.get(model);
        ModelCalls then = before.models.get(model);
        return now == null ? 0 : then == null || then.calls > now.calls ? now.mistakes : now.mistakes - then.mistakes;
    }

    /** What was counted since an earlier reading. */
    long since(CounterKey counter, MeterReading before) {
        long now = counters.getOrDefault(counter, 0L);
        long then = before.counters.getOrDefault(counter, 0L);
        return then > now ? now : now - then;
    }
}
