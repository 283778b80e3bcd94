package dev.isthmus.gateway.fleet.kserve;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What counts of an InferenceService, {@code serving.kserve.io/v1beta1}.
 *
 * @param known whether it is ready, or has been
 * @param stable the predictor that gets the calls that no canary gets
 * @param canaries that are ready and get calls; since KServe 0.20, and not with Knative
 * @param revisions of Knative that get calls, with their percentages; empty if Knative does not deploy the predictor
 */
record InferenceService(
        String name, boolean known, Predictor stable, List<Canary> canaries, Map<String, Integer> revisions) {
    private static final Set<String> KNATIVE = Set.of("Serverless", "Knative");

    /** A predictor that gets a percentage of the calls. */
    record Canary(Predictor predictor, int percent) {}

    InferenceService {
        canaries = List.copyOf(canaries);
        revisions = Collections.unmodifiableMap(new LinkedHashMap<>(revisions));
    }

    static InferenceService of(JsonNode resource) {
        JsonNode status = resource.path("status");
        JsonNode predictor = status.path("components").path("predictor");
        Predictor stable = Predictor.of(resource.path("spec").path("predictor"), status);
        return new InferenceService(
                resource.path("metadata").path("name").asText(),
                // KServe sets the URL when the predictor is ready for the first time, and leaves it.
                isReady(status) || predictor.hasNonNull("url"),
                stable,
                canaries(stable, resource.path("spec"), status),
                revisions(resource, predictor));
    }

    private static boolean isReady(JsonNode status) {
        for (JsonNode condition : status.path("conditions")) {
            if (condition.path("type").asText().equals("Ready")) {
                return condition.path("status").asText().equals("True");
            }
        }
        return false;
    }

    /** As KServe does it, those that are not ready get no calls: the stable predictor gets them. */
    private static List<Canary> canaries(Predictor stable, JsonNode spec, JsonNode status) {
        Set<String> ready = new HashSet<>();
        for (JsonNode canary : status.path("canaryStatuses")) {
            if (canary.path("ready").asBoolean()) {
                ready.add(canary.path("name").asText());
            }
        }
        ready.remove(stable.name());
        List<Canary> canaries = new ArrayList<>();
        for (JsonNode canary : spec.path("canary")) {
            Predictor predictor = Predictor.ofCanary(spec.path("predictor"), canary.path("predictor"), status);
            int percent = canary.path("trafficPercent").asInt();
            if (percent > 0 && ready.remove(predictor.name())) {
                canaries.add(new Canary(predictor, percent));
            }
        }
        return canaries;
    }

    private static Map<String, Integer> revisions(JsonNode resource, JsonNode predictor) {
        Map<String, Integer> revisions = new LinkedHashMap<>();
        if (!isOfKnative(resource)) {
            return revisions;
        }
        for (JsonNode target : predictor.path("traffic")) {
            put(revisions, target.path("revisionName"), target.path("percent").asInt());
        }
        if (revisions.isEmpty()) {
            put(revisions, predictor.path("latestReadyRevision"), 100);
        }
        return revisions;
    }

    private static void put(Map<String, Integer> revisions, JsonNode name, int percent) {
        if (percent > 0 && name.asText().matches("[a-z0-9]([a-z0-9-]*[a-z0-9])?")) {
            revisions.merge(name.asText(), percent, Integer::sum);
        }
    }

    /** A resource without a mode was deployed by a version of KServe that knows no status of it: revisions decide. */
    private static boolean isOfKnative(JsonNode resource) {
        String mode = resource.path("status").path("deploymentMode").asText();
        if (mode.isEmpty()) {
            mode = resource.path("metadata")
                    .path("annotations")
                    .path("serving.kserve.io/deploymentMode")
                    .asText();
        }
        return mode.isEmpty() || KNATIVE.contains(mode);
    }
}
