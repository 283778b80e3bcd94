package dev.isthmus.gateway.validation;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.gateway.validation.RequestValidator.ValidationMeters.PassedReason;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The layer that compares requests with the metadata of the model that they are about to be sent to. Where it cannot tell,
 * the request passes, and is counted.
 */
public final class RequestValidator implements Layer {
    private static final Logger LOG = LoggerFactory.getLogger(RequestValidator.class);

    private final Function<ModelRef, RequestValidation> modes;
    private final Function<ModelRef, String> labels;
    private final ModelSignatures signatures;
    private final ValidationMeters meters;

    /**
     * The layer of one configuration.
     *
     * @param modes what happens to a request for a model that does not match
     * @param labels the names of models for metrics, from a bounded set
     */
    public RequestValidator(
            Function<ModelRef, RequestValidation> modes,
            Function<ModelRef, String> labels,
            ModelSignatures signatures,
            MeterRegistry meters) {
        this.modes = modes;
        this.labels = labels;
        this.signatures = signatures;
        this.meters = new ValidationMeters(meters);
    }

    @Override
    public String name() {
        return "validation";
    }

    @Override
    public void parsed(Exchange exchange, RequestOutline request) {
        ModelRef requested = exchange.call().operation().requestedModel();
        ModelRef served = exchange.context().served();
        if (requested == null || served == null) {
            return;
        }
        RequestValidation mode = modes.apply(requested);
        if (mode == RequestValidation.OFF) {
            return;
        }
        List<RequestMismatch> mismatches = mismatches(exchange.context(), requested, served, request);
        if (!mismatches.isEmpty()) {
            String text = mismatches.getFirst().text(requested.name());
            report(exchange.context(), requested, mismatches.getFirst(), text, mode);
            if (mode == RequestValidation.STRICT) {
                signatures.refused(requested, exchange.context().upstream(), served);
                throw OipException.invalid(text).because(FailureCause.VALIDATION);
            }
        }
    }

    /** The differences of a request that no server takes; it passes if that cannot be told. */
    private List<RequestMismatch> mismatches(
            CallContext call, ModelRef requested, ModelRef served, RequestOutline request) {
        try {
            DeclaredSignatures declared = signatures.of(requested, call.upstream(), served);
            List<RequestMismatch> found = declared.mismatches(request);
            if (declared.known() && (found.isEmpty() || declared.complete())) {
                return found;
            }
            meters.passed(labels.apply(requested), declared.known() ? PassedReason.INCOMPLETE : PassedReason.UNKNOWN);
        } catch (RuntimeException fault) {
            CallLog.of(RepeatingLogEvent.fault(LOG, fault), call)
                    .log("internal error while a request was compared with its model's metadata; it is sent");
            meters.passed(labels.apply(requested), PassedReason.FAULT);
        }
        return List.of();
    }

    private void report(
            CallContext call, ModelRef requested, RequestMismatch first, String text, RequestValidation mode) {
        meters.invalid(labels.apply(requested), first.reason());
        CallLog.of(RepeatingLogEvent.warn(LOG), call)
                .addKeyValue("code", first.reason().label())
                .log(
                        "request {}: {}",
                        mode == RequestValidation.STRICT ? "refused" : "sent although it does not match",
                        text);
    }

    /**
     * Counts what the validation finds, by model and reason. The counters of a model are registered for all reasons at once,
     * when it needs the first. Thread-safe.
     */
    static final class ValidationMeters {
        private final MeterRegistry registry;
        private final Map<String, Map<MismatchReason, Counter>> invalid = new ConcurrentHashMap<>();
        private final Map<String, Map<PassedReason, Counter>> passed = new ConcurrentHashMap<>();

        /** Why it is not known whether a request matches. */
        enum PassedReason {
            /** The model's metadata are not known yet. */
            UNKNOWN,
            /** Those of one of its servers are not known: it may take the request. */
            INCOMPLETE,
            /** The comparison has failed. */
            FAULT
        }

        ValidationMeters(MeterRegistry registry) {
            this.registry = registry;
        }

        /** A request does not match its model's metadata. */
        void invalid(String model, MismatchReason reason) {
            LabelledCounters.increment(invalid.computeIfAbsent(model, this::invalidCounters), reason);
        }

        /** A request is sent although it is not known whether it matches. */
        void passed(String model, PassedReason reason) {
            LabelledCounters.increment(passed.computeIfAbsent(model, this::passedCounters), reason);
        }

        private Map<MismatchReason, Counter> invalidCounters(String model) {
            return LabelledCounters.of(
                    MismatchReason.class,
                    reason -> Counter.builder("isthmus.requests.invalid")
                            .description(
                                    "Inference requests that do not match the metadata of their model, by the first difference")
                            .tag("model", model)
                            .tag("reason", reason.label())
                            .register(registry));
        }

        private Map<PassedReason, Counter> passedCounters(String model) {
            return LabelledCounters.of(
                    PassedReason.class,
                    reason -> Counter.builder("isthmus.requests.unvalidated")
                            .description(
                                    "Inference requests that were sent although it is not known whether they match")
                            .tag("model", model)
                            .tag("reason", reason.name().toLowerCase(Locale.ROOT))
                            .register(registry));
        }
    }
}
