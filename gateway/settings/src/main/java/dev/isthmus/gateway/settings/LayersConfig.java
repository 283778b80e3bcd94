package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

@Doc("Layers that jars bring, beside the gateway's own.")
public record LayersConfig(
        @Doc("Folder of the jars, relative to the configuration file.") @Nullable
        Path folder,

        @Doc("The layers to add. Of several at one place the first is the outermost.")
        List<AddedLayer> add)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        Set<String> names = new HashSet<>();
        for (AddedLayer each : add) {
            SectionCheck one = check.at(each);
            if (!each.name().isEmpty() && !names.add(each.name())) {
                one.problemAt("name", "add: '" + each.name() + "' is there twice: one is expected");
            }
            if (one.readable("before") && one.readable("after") && (each.before() == null) == (each.after() == null)) {
                one.problem("add: '" + each.name() + "': either 'before' or 'after' is expected, got "
                        + (each.before() == null ? "neither" : "both"));
            }
        }
    }

    /** A layer of a jar, and its place: either right before or right after one of the gateway's own. */
    public record AddedLayer(
            @Doc("Name that the jar gives the layer.") @Required
            String name,

            @Doc("The gateway's own layer right behind it: requests reach that later, responses earlier.") @Nullable
            BuiltInLayer before,

            @Doc("The gateway's own layer right in front of it: requests reach that earlier, responses later.")
            @Nullable
            BuiltInLayer after,

            @Doc("The layer's own settings, as its author describes them.") @Nullable
            LayerSettings settings) {
        /** What is written about it: its author's description. */
        public String doc() {
            return settings == null ? "" : ConfigKey.doc(((Record) settings).getClass());
        }

        /** Its place, on a scale on which the gateway's own layers have even numbers. */
        private int place() {
            return before != null ? 2 * before.place() - 1 : after == null ? 0 : 2 * after.place() + 1;
        }
    }

    /**
     * The gateway's own layers that a configuration has and the added ones, the outermost first.
     *
     * @param <T> what there is of each layer
     */
    public <T> List<T> placed(GatewayConfig config, Function<BuiltInLayer, T> own, Function<AddedLayer, T> added) {
        record Placed<T>(int place, T layer) {}
        List<Placed<T>> all = new ArrayList<>();
        BuiltInLayer.of(config).forEach(each -> all.add(new Placed<>(2 * each.place(), own.apply(each))));
        add.forEach(each -> all.add(new Placed<>(each.place(), added.apply(each))));
        return all.stream()
                .sorted(Comparator.comparingInt(Placed::place))
                .map(Placed::layer)
                .toList();
    }
}
