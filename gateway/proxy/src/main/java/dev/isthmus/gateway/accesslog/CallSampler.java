package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.settings.AccessLogConfig;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Decides which calls are logged: failed and slow ones always, the others by the share of their model. Thread-safe. */
final class CallSampler {
    private final double share;
    private final Map<String, Double> names;
    private final Map<ModelPattern, Double> patterns;
    private final long slowNanos;
    private final DoubleSupplier random;

    /** @param random from 0 to less than 1 */
    CallSampler(AccessLogConfig config, DoubleSupplier random) {
        this.share = config.sample();
        this.random = random;
        this.slowNanos = config.slow().isZero() ? Long.MAX_VALUE : config.slow().toNanos();
        this.names = config.models().entrySet().stream()
                .filter(each -> !ModelPattern.is(each.getKey()))
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
        this.patterns = new TreeMap<>();
        config.models().forEach((name, value) -> {
            if (ModelPattern.is(name)) {
                patterns.put(new ModelPattern(name), value);
            }
        });
    }

    /** Whether a call that has ended is logged. */
    boolean logs(CallContext call) {
        if (call.code() != null || call.totalNanos() >= slowNanos) {
            return true;
        }
        double wanted = share(call.operation());
        return wanted >= 1 || (wanted > 0 && random.getAsDouble() < wanted);
    }

    private double share(@Nullable Operation operation) {
        ModelRef model =
                operation == null || (names.isEmpty() && patterns.isEmpty()) ? null : operation.requestedModel();
        if (model == null) {
            return share;
        }
        Double exact = names.get(model.name());
        if (exact != null) {
            return exact;
        }
        for (Map.Entry<ModelPattern, Double> each : patterns.entrySet()) {
            if (each.getKey().matches(model.name())) {
                return each.getValue();
            }
        }
        return share;
    }
}
