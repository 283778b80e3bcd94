package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Refused requests by reason, and calls by caller. They outlive reloads. */
public final class AccessMetrics implements Layer {
    /** How many callers get meters of their own; tokens may name any number. */
    static final int MAX_CALLERS = 1000;

    private static final String OTHERS = "other";
    /** Streams last as long as their clients want. */
    private static final Set<OperationKind> TIMED = EnumSet.of(OperationKind.INFER, OperationKind.GENERATE);

    private final MeterRegistry registry;
    private final Map<String, Counter> refusals = new ConcurrentHashMap<>();
    private final Map<String, CallerMeters> callers = new ConcurrentHashMap<>();

    /** @param registry where meters are registered when they are first needed */
    public AccessMetrics(MeterRegistry registry) {
        this.registry = registry;
        for (String source : List.of("api_keys", "jwks")) {
            reloads(source, true);
            reloads(source, false);
        }
        List.of("no_rule", "management").forEach(this::refusals);
    }

    /** Registers the counters of these reasons, so that their rates have no gaps. */
    public void expect(Stream<String> reasons) {
        reasons.forEach(this::refusals);
    }

    private static final class CallerMeters {
        private final Counter succeeded;
        private final Counter failed;
        private final Counter limited;
        private final Counter bytes;
        private final Timer durations;

        CallerMeters(MeterRegistry registry, String caller) {
            succeeded = calls(registry, caller, "ok");
            failed = calls(registry, caller, "error");
            limited = Counter.builder("isthmus.principal.requests.limited")
                    .description("Calls of authenticated callers that a limit of the gateway has refused (429)")
                    .tag("principal", caller)
                    .register(registry);
            bytes = Counter.builder("isthmus.principal.request.bytes")
                    .description("Request bodies of authenticated callers, uncompressed")
                    .tag("principal", caller)
                    .register(registry);
            durations = Timer.builder("isthmus.principal.duration")
                    .description("Duration of successful inferences of authenticated callers, without streams")
                    .tag("principal", caller)
                    .serviceLevelObjectives(CallMetrics.BUCKETS.toArray(Duration[]::new))
                    .register(registry);
        }

        private static Counter calls(MeterRegistry registry, String caller, String result) {
            return Counter.builder("isthmus.principal.requests")
                    .description(
                            "Calls of authenticated callers that have ended; principal is other beyond 1,000 names")
                    .tags("principal", caller, "result", result)
                    .register(registry);
        }

        void ended(CallContext call) {
            ErrorCode code = call.code();
            if (code == null && TIMED.contains(OperationKind.of(call.operation()))) {
                durations.record(call.totalNanos(), TimeUnit.NANOSECONDS);
            }
            (code == null ? succeeded : failed).increment();
            // A server's 429 has another cause.
            if (call.cause() == FailureCause.RATE_LIMIT || call.cause() == FailureCause.CALLER_LIMIT) {
                limited.increment();
            }
            if (!(call.operation() instanceof Operation.InferStream)) {
                // Its messages have them.
                bytes.increment((double) call.requestBytes());
            }
        }
    }

    /** Counts a refusal; the reason is one of a fixed set. */
    public void refused(String reason) {
        refusals(reason).increment();
    }

    private Counter refusals(String reason) {
        return refusals.computeIfAbsent(
                reason,
                each -> Counter.builder("isthmus.access.refused")
                        .description(
                                "Requests, and messages of streams, refused by authentication (401; too_many_failures:"
                                        + " 429; keys_unavailable: 503)"
                                        + " or authorization (403: no_rule, management)")
                        .tag("reason", each)
                        .register(registry));
    }

    /**
     * Credentials were read again.
     *
     * @param source one of a fixed set
     * @param applied whether they are in effect
     */
    public void reloaded(String source, boolean applied) {
        reloads(source, applied).increment();
    }

    private Counter reloads(String source, boolean applied) {
        return Counter.builder("isthmus.credential.reloads")
                .description("Files or URLs with keys that were read again")
                .tags("source", source, "result", applied ? "applied" : "rejected")
                .register(registry);
    }

    @Override
    public String name() {
        return "caller_metrics";
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        Principal principal = call.principal();
        if (!principal.name().isEmpty()) {
            caller(principal.name()).ended(call);
        }
    }

    /** A message is a request of its own. */
    @Override
    public void messageEnded(Exchange exchange) {
        ended(exchange);
    }

    private CallerMeters caller(String name) {
        CallerMeters known = callers.get(name);
        if (known != null) {
            return known;
        }
        // A race may exceed the limit by a few names, which is harmless.
        String key = callers.size() < MAX_CALLERS ? name : OTHERS;
        return callers.computeIfAbsent(key, each -> new CallerMeters(registry, each));
    }
}
