package dev.isthmus.gateway.console;

import dev.isthmus.gateway.console.ModelsDocument.ListedModel;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

/** Finds models by words in what the page Models shows of them: names, kind, aliases, drift, targets, servers. */
final class ModelSearch {
    private final RunningConfiguration running;
    private final List<String> words;

    ModelSearch(RunningConfiguration running, String search) {
        this.running = running;
        this.words = Arrays.stream(search.toLowerCase(Locale.ROOT).split("\\s+"))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    List<ListedModel> filter(List<ListedModel> models) {
        return words.isEmpty() ? models : models.stream().filter(this::matches).toList();
    }

    /** Servers are looked at only for words that are nowhere else. */
    private boolean matches(ListedModel model) {
        String text = text(model).toLowerCase(Locale.ROOT);
        List<String> missing =
                words.stream().filter(word -> !text.contains(word)).toList();
        if (missing.isEmpty() || model.route() == null) {
            return missing.isEmpty();
        }
        String servers = servers(model.route(), model.name()).toLowerCase(Locale.ROOT);
        return missing.stream().allMatch(servers::contains);
    }

    private String text(ListedModel model) {
        StringBuilder text = new StringBuilder(model.name()).append(' ').append(model.kind());
        model.aliases().forEach(alias -> text.append(' ').append(alias));
        if (!running.catalogue().driftDocument(model.name()).isEmpty()) {
            text.append(" drift");
        }
        Route route = model.route();
        if (route != null) {
            for (TargetConfig target : route.config().allTargets()) {
                text.append(' ').append(target.label()).append(' ').append(target.upstream());
                text.append(' ').append(Objects.requireNonNullElse(target.model(), ""));
                text.append(' ').append(Objects.requireNonNullElse(target.version(), ""));
            }
        }
        return text.toString();
    }

    private String servers(Route route, String model) {
        try {
            return route.decide(ModelRef.of(model), RequestAttributes.NONE).targets().values().stream()
                    .flatMap(share -> running.catalogue().members(share.target().upstream()).stream())
                    .map(ReplicaStatus::label)
                    .collect(Collectors.joining(" "));
        } catch (OipException noDefaultVersion) {
            return "";
        }
    }
}
