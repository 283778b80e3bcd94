package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The catalogue's meters, by configured model and by upstream. Closing keeps meters that a later catalogue has
 * registered again.
 */
final class CatalogueMeters implements AutoCloseable {
    private final MeterRegistry registry;
    private final ReplaceableMeters gauges;

    CatalogueMeters(MeterRegistry registry) {
        this.registry = registry;
        this.gauges = new ReplaceableMeters(registry);
    }

    /** @param ready 1 or 0 for a model */
    void register(List<String> models, ToDoubleFunction<String> ready, ToDoubleFunction<String> drift) {
        for (String model : models) {
            gauge("isthmus.model.ready", "Whether enough of the model's servers are ready for it", model, ready);
            gauge("isthmus.model.drift", "Differences between what servers say of the model", model, drift);
        }
    }

    private void gauge(String name, String what, String model, ToDoubleFunction<String> value) {
        gauges.add(Gauge.builder(name, model, value)
                .description(what)
                .tag("model", model)
                .strongReference(true)::register);
    }

    /** Counts a failed request to a server. All catalogues of a process share the counters, which closing keeps. */
    void failed(String upstream, String what) {
        Counter.builder("isthmus.catalogue.failures")
                .description("Requests of the catalogue that failed")
                .tag("upstream", upstream)
                .tag("what", what)
                .register(registry)
                .increment();
    }

    @Override
    public void close() {
        gauges.close();
    }
}
