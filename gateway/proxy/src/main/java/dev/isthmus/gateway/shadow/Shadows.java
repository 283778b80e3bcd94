package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.Transcoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The shadows of one route. Used by all event loops. */
public final class Shadows implements AutoCloseable {
    /** Of a route that has none. */
    public static final Shadows NONE = new Shadows("", List.of(), asked -> List.of());

    private static final Logger LOG = LoggerFactory.getLogger(Shadows.class);
    private static final String SEQUENCE = "sequence_id";

    private final String model;
    private final List<Shadow> shadows;
    private final Function<ModelRef, List<Target>> targets;

    private Shadows(String model, List<Shadow> shadows, Function<ModelRef, List<Target>> targets) {
        this.model = model;
        this.shadows = shadows;
        this.targets = targets;
    }

    /**
     * The shadows of a route.
     *
     * @param model the route's key, for metrics
     * @param targets where the copies of a call for a model go: one target for each of {@code configs}, in their order
     */
    public static Shadows of(
            String model,
            List<ModelConfig.ShadowConfig> configs,
            Function<ModelRef, List<Target>> targets,
            Transcoder transcoder,
            ShadowRuntime runtime) {
        return configs.isEmpty()
                ? NONE
                : new Shadows(
                        model,
                        configs.stream()
                                .map(config ->
                                        new Shadow(new ShadowName(model, config.label()), config, transcoder, runtime))
                                .toList(),
                        targets);
    }

    /** Whether there is one that may want copies. */
    public boolean any() {
        return !shadows.isEmpty();
    }

    /**
     * A call was just sent to its main target: chooses the copies of it, which are sent when the loop has done what it is at.
     * Called on the call's event loop; nothing is thrown.
     *
     * @param asked the model as the route is asked for it
     * @param main where the call went: a shadow of the same place gets no copy, which could only be compared with itself
     * @param source may be used until it is released
     */
    public PrimaryCallObserver begin(Call call, ModelRef asked, Target main, RequestSource source) {
        List<ShadowCopy> copies = List.of();
        if (!shadows.isEmpty()) {
            try {
                copies = copies(call, asked, main, source);
            } catch (RuntimeException fault) {
                LOG.error("choice of the shadows of model '{}'", model, fault);
            }
        }
        if (copies.isEmpty()) {
            source.release();
            return PrimaryCallObserver.NONE;
        }
        ShadowCopies all = new ShadowCopies(copies, source);
        try {
            call.loop().execute(all);
            return all;
        } catch (RejectedExecutionException closed) {
            all.drop();
            return PrimaryCallObserver.NONE;
        }
    }

    /** What may fail comes before the first copy counts as under way. */
    private List<ShadowCopy> copies(Call call, ModelRef asked, Target main, RequestSource source) {
        boolean[] sampled = new boolean[shadows.size()];
        boolean any = false;
        for (int i = 0; i < sampled.length; i++) {
            sampled[i] = shadows.get(i).sampled();
            any |= sampled[i];
        }
        if (!any) {
            return List.of();
        }
        ShadowOutcome leftOut = leftOut(call, source);
        List<Target> places = targets.apply(asked);
        List<ShadowCopy> copies = new ArrayList<>();
        for (int i = 0; i < sampled.length; i++) {
            Shadow shadow = shadows.get(i);
            if (sampled[i] && leftOut != null) {
                shadow.figures().count(leftOut);
            } else if (sampled[i] && same(places.get(i), main)) {
                shadow.figures().count(ShadowOutcome.SAME_TARGET);
            } else if (sampled[i] && shadow.enter()) {
                copies.add(new ShadowCopy(shadow, places.get(i), call));
            } else if (sampled[i]) {
                shadow.figures().count(ShadowOutcome.BUSY);
            }
        }
        return copies;
    }

    private static boolean same(Target copy, Target main) {
        return copy.upstream().equals(main.upstream()) && copy.model().equals(main.model());
    }

    private static @Nullable ShadowOutcome leftOut(Call call, RequestSource source) {
        if (!(call.operation() instanceof Operation.Infer infer) || infer.stream()) {
            return ShadowOutcome.STREAM;
        }
        return inSequence(source.parameters()) ? ShadowOutcome.SEQUENCE : null;
    }

    /** Whether it is one of a sequence: 0 and the empty text are the ids of none. */
    private static boolean inSequence(Map<String, Parameter> parameters) {
        Parameter id = parameters.get(SEQUENCE);
        return id != null && !id.equals(new Parameter.Int64(0)) && !id.equals(new Parameter.Text(""));
    }

    /** No more calls begin. Figures that no other configuration has go. */
    @Override
    public void close() {
        shadows.forEach(Shadow::close);
    }
}
