package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Creates routing tables with a seeded random and a fixed clock. */
final class Tables {
    static final ModelRef M = ModelRef.of("m");

    private final AtomicLong clock = new AtomicLong();
    private final SequencePins pins = new SequencePins(clock::get);
    private final SelectionState choices = new SelectionState(pins, new SplittableRandom(7));
    private final Map<String, Upstream> discovered = new HashMap<>();
    private @Nullable Upstream fallback;

    Tables withDefault(String upstream) {
        fallback = new NamedUpstream(upstream);
        return this;
    }

    Tables discover(String model, String upstream) {
        discovered.put(model, new NamedUpstream(upstream));
        return this;
    }

    Tables forget(String model) {
        discovered.remove(model);
        return this;
    }

    /** The next table of the same gateway. */
    RoutingTable table(Map<String, Model> models) {
        Map<String, ModelConfig> configs = new HashMap<>();
        models.forEach((name, model) -> configs.put(name, model.config()));
        return new RoutingTable(configs, NamedUpstream::new, fallback, () -> discovered, choices);
    }

    /** The route of the model "m" in the next table of the same gateway. */
    Route route(Model model) {
        return table(Map.of("m", model)).route(M);
    }

    void pass(long nanos) {
        clock.addAndGet(nanos);
    }

    SequencePins pins() {
        return pins;
    }

    static RequestAttributes header(String name, String value) {
        return new RequestAttributes(Map.of(name, value)::get, Map.of(), "");
    }

    static RequestAttributes parameter(String name, Parameter value) {
        return new RequestAttributes(HeaderFields.NONE, Map.of(name, value), "");
    }
}
