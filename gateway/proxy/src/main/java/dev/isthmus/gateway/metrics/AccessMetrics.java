package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.call.Principal;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Refused requests by reason, and calls by caller. They outlive reloads. */
public final class AccessMetrics implements CallObserver {
    /** How many callers get meters of their own; tokens may name any number. */
    static final int MAX_CALLERS = 1000;

    private static final String OTHERS = "other";

    private final MeterRegistry registry;
    private final Map<String, Counter> refusals = new ConcurrentHashMap<>();
    private final Map<String, CallerMeters> callers = new ConcurrentHashMap<>();

    /** @param registry where meters are registered when they are first needed */
    public AccessMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /** The calls of one caller. */
    private static final class CallerMeters {
        private final Counter succeeded;
        private final Counter failed;
        private final Counter bytes;

        CallerMeters(MeterRegistry registry, String caller) {
            succeeded = calls(registry, caller, "ok");
            failed = calls(registry, caller, "error");
            bytes = Counter.builder("isthmus.principal.request.bytes")
                    .description("Bytes of request bodies, by authenticated caller")
                    .tag("principal", caller)
                    .register(registry);
        }

        private static Counter calls(MeterRegistry registry, String caller, String result) {
            return Counter.builder("isthmus.principal.requests")
                    .description("Calls that have ended, by authenticated caller")
                    .tags("principal", caller, "result", result)
                    .register(registry);
        }

        void ended(CallContext call) {
            (call.code() == null ? succeeded : failed).increment();
            bytes.increment((double) call.requestBytes());
        }
    }

    /**
     * A request was refused.
     *
     * @param reason one of a fixed set
     */
    public void refused(String reason) {
        refusals.computeIfAbsent(
                        reason,
                        each -> Counter.builder("isthmus.access.refused")
                                .description("Requests refused by authentication or authorization")
                                .tag("reason", each)
                                .register(registry))
                .increment();
    }

    /**
     * Credentials were read again.
     *
     * @param source one of a fixed set
     * @param applied whether they are in effect
     */
    public void reloaded(String source, boolean applied) {
        Counter.builder("isthmus.credential.reloads")
                .description("Reads of keys after the start")
                .tags("source", source, "result", applied ? "applied" : "rejected")
                .register(registry)
                .increment();
    }

    @Override
    public void ended(CallContext call) {
        Principal principal = call.principal();
        if (!principal.name().isEmpty()) {
            caller(principal.name()).ended(call);
        }
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
