package dev.isthmus.gateway.catalogue;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.Search;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The catalogue's meters, by configured model and by upstream. Those that a later catalogue took over stay when this closes. */
final class CatalogueMeters implements AutoCloseable {
    private static final String READY = "isthmus.model.ready";
    private static final String DRIFT = "isthmus.model.drift";
    private static final String FAILURES = "isthmus.catalogue.failures";

    private final MeterRegistry registry;
    private final List<Meter> gauges = new ArrayList<>();

    CatalogueMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** @param ready 1 or 0 for a model */
    void register(List<String> models, ToDoubleFunction<String> ready, ToDoubleFunction<String> drift) {
        for (String model : models) {
            gauges.add(gauge(READY, "Whether enough of the model's servers are ready for it", model, ready));
            gauges.add(gauge(DRIFT, "Differences between what servers say of the model", model, drift));
        }
    }

    private Gauge gauge(String name, String what, String model, ToDoubleFunction<String> value) {
        // One of an earlier configuration would stay in place.
        Gauge earlier = find(name, model);
        if (earlier != null) {
            registry.remove(earlier);
        }
        return Gauge.builder(name, model, value)
                .description(what)
                .tag("model", model)
                .strongReference(true)
                .register(registry);
    }

    private @Nullable Gauge find(String name, String model) {
        return Search.in(registry).name(name).tag("model", model).gauge();
    }

    /** A question to a server failed. */
    void failed(String upstream, String what) {
        Counter.builder(FAILURES)
                .description("Questions of the catalogue that failed")
                .tag("upstream", upstream)
                .tag("what", what)
                .register(registry)
                .increment();
    }

    @Override
    public void close() {
        for (Meter gauge : gauges) {
            String model = gauge.getId().getTag("model");
            if (model != null && find(gauge.getId().getName(), model) == gauge) {
                registry.remove(gauge);
            }
        }
    }
}
