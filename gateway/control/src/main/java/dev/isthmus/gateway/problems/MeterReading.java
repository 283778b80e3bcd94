package dev.isthmus.gateway.problems;

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
import org.jspecify.annotations.Nullable;

/**
 * What the meters say at one moment of all that can fail. Filled on one thread, then only read.
 *
 * @param models inferences by route
 * @param servers attempts by server
 * @param refusals calls that were refused because of a limit
 * @param callers calls of authenticated callers
 * @param certificates when they expire
 * @param openBreakers upstreams whose circuit breaker is open
 * @param lostStores names of shared stores that are not used, as they do not answer; at most one
 * @param recoveringStores those of them that answer again, but not for long enough
 */
record MeterReading(
        Map<String, ModelCalls> models,
        Map<ServerKey, ServerAttempts> servers,
        Map<RefusalKey, Long> refusals,
        Map<String, CallerCalls> callers,
        Map<CertificateKey, Instant> certificates,
        Set<String> openBreakers,
        Set<String> lostStores,
        Set<String> recoveringStores) {
    private static final Set<String> INFERENCES = Set.of("infer", "generate", "infer_stream", "generate_stream");
    private static final int BREAKER_OPEN = 2;

    record ServerKey(String upstream, String server) {}

    /**
     * A limit.
     *
     * @param meter the name of its counter
     * @param subject the model or upstream; empty for the whole gateway
     * @param unit what is limited, or why calls are refused
     * @param scope whose calls are counted together
     */
    record RefusalKey(String meter, String subject, String unit, String scope) {}

    record CertificateKey(String file, String subject) {}

    /** Inferences of a model: all, and those that failed because of servers or the gateway. */
    static final class ModelCalls {
        private long calls;
        /** Most models have none. */
        private Map<ErrorCode, Long> failures = Map.of();

        private void add(String code, long count) {
            calls += count;
            if (count > 0 && !code.equals("OK") && ErrorCode.valueOf(code).httpStatus() >= 500) {
                if (failures.isEmpty()) {
                    failures = new EnumMap<>(ErrorCode.class);
                }
                failures.merge(ErrorCode.valueOf(code), count, Long::sum);
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
     */
    record ServerAttempts(long all, long failed, long errors) {
        static final ServerAttempts NONE = new ServerAttempts(0, 0, 0);

        ServerAttempts plus(String outcome, long count) {
            return switch (outcome) {
                case "cancelled" -> this;
                case "failed" -> new ServerAttempts(all + count, failed + count, errors);
                case "error", "unavailable" -> new ServerAttempts(all + count, failed, errors + count);
                default -> new ServerAttempts(all + count, failed, errors);
            };
        }

        /** Those since an earlier reading; a server that was removed and added again begins at 0. */
        ServerAttempts since(ServerAttempts before) {
            return all < before.all
                    ? this
                    : new ServerAttempts(
                            all - before.all, Math.max(0, failed - before.failed), Math.max(0, errors - before.errors));
        }

        long bad() {
            return failed + errors;
        }

        double share() {
            return all == 0 ? 0 : (double) bad() / all;
        }
    }

    /**
     * Calls of a caller.
     *
     * @param limited that were refused because of a limit
     */
    record CallerCalls(long all, long limited) {
        CallerCalls plus(CallerCalls other) {
            return new CallerCalls(all + other.all, limited + other.limited);
        }

        CallerCalls since(@Nullable CallerCalls before) {
            return before == null ? this : new CallerCalls(all - before.all, limited - before.limited);
        }
    }

    /** Goes once through all meters. */
    static MeterReading of(MeterRegistry registry) {
        MeterReading reading = new MeterReading(
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashMap<>(),
                new HashSet<>(),
                new HashSet<>(),
                new HashSet<>());
        registry.forEachMeter(reading::add);
        return reading;
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
        }
    }

    private void add(FunctionTimer timer) {
        if (timer.getId().getName().equals("isthmus.endpoint.requests")) {
            servers.merge(
                    new ServerKey(tag(timer, "upstream"), tag(timer, "endpoint")),
                    ServerAttempts.NONE.plus(tag(timer, "outcome"), (long) timer.count()),
                    (one, two) -> new ServerAttempts(
                            one.all() + two.all(), one.failed() + two.failed(), one.errors() + two.errors()));
        }
    }

    private void add(Counter counter) {
        String name = counter.getId().getName();
        long count = (long) counter.count();
        switch (name) {
            case "isthmus.rate.limited" ->
                refusal(
                        new RefusalKey(name, tag(counter, "model"), tag(counter, "limit"), tag(counter, "header")),
                        count);
            case "isthmus.upstream.rejected" ->
                refusal(new RefusalKey(name, tag(counter, "upstream"), tag(counter, "reason"), ""), count);
            case "isthmus.requests.shed", "isthmus.principal.requests.shed", "isthmus.memory.refused" ->
                refusal(new RefusalKey(name, "", "", ""), count);
            case "isthmus.principal.requests.limited" ->
                callers.merge(tag(counter, "principal"), new CallerCalls(0, count), CallerCalls::plus);
            case "isthmus.principal.requests" ->
                callers.merge(tag(counter, "principal"), new CallerCalls(count, 0), CallerCalls::plus);
            default -> {}
        }
    }

    private void refusal(RefusalKey key, long count) {
        if (count > 0) {
            refusals.merge(key, count, Long::sum);
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

    /** The calls that a limit has refused since an earlier reading. */
    long refused(RefusalKey limit, MeterReading before) {
        long now = refusals.getOrDefault(limit, 0L);
        long then = before.refusals.getOrDefault(limit, 0L);
        return then > now ? now : now - then;
    }
}
