package dev.isthmus.gateway.fleet.kserve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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

    /**
     * A predictor of an InferenceService.
     *
     * @param name part of the name of its Service; empty if the resource gives it none, as all before KServe 0.20
     * @param protocol v2, grpc-v2, or one that is not the Open Inference Protocol
     * @param triton whether the server is Triton, whose models have the names of their folders
     * @param port name of the first of several ports that the resource gives it; null if there are not several
     */
    record Predictor(
            String name,
            String protocol,
            boolean triton,
            @Nullable String port) {
        private static final String V2 = "v2";
        private static final String V1 = "v1";
        private static final String CONTAINER = "kserve-container";

        /** Runtimes for which KServe's controller takes v2 as the default. */
        private static final String MLSERVER = "kserve-mlserver";

        private static final String TRITON = "kserve-tritonserver";

        static Predictor of(JsonNode spec, JsonNode status) {
            JsonNode server = server(spec);
            String name = spec.path("name").asText();
            return new Predictor(
                    name.matches("[a-z]([a-z0-9-]*[a-z0-9])?") ? name : "",
                    protocol(server, status),
                    isTriton(server, status),
                    server.path("ports").size() > 1
                            ? server.path("ports").path(0).path("name").textValue()
                            : null);
        }

        /** A canary has the stable predictor's values where it sets none. */
        static Predictor ofCanary(JsonNode stable, JsonNode canary, JsonNode status) {
            return of(merged(stable, canary), status);
        }

        private static JsonNode merged(JsonNode base, JsonNode over) {
            if (!(base instanceof ObjectNode object) || !over.isObject()) {
                return over;
            }
            ObjectNode merged = object.deepCopy();
            over.properties()
                    .forEach(each -> merged.set(each.getKey(), merged(base.path(each.getKey()), each.getValue())));
            return merged;
        }

        /** The Service of its pods. */
        String service(String inferenceService) {
            return inferenceService + (name.isEmpty() ? "" : "-" + name) + "-predictor";
        }

        /** The specification of the container that serves the model. */
        private static JsonNode server(JsonNode predictor) {
            if (predictor.path("model").isObject()) {
                return predictor.path("model");
            }
            for (JsonNode container : predictor.path("containers")) {
                if (container.path("name").asText().equals(CONTAINER)) {
                    return container;
                }
            }
            return predictor.path("containers").path(0);
        }

        private static String protocol(JsonNode server, JsonNode status) {
            if (server.hasNonNull("protocolVersion")) {
                return server.path("protocolVersion").asText();
            }
            for (JsonNode variable : server.path("env")) {
                if (variable.path("name").asText().equals("PROTOCOL")) {
                    return variable.path("value").asText(V1);
                }
            }
            return isTriton(server, status) || isRuntime(MLSERVER, server, status) ? V2 : V1;
        }

        private static boolean isTriton(JsonNode server, JsonNode status) {
            return server.path("modelFormat").path("name").asText().equals("triton")
                    || isRuntime(TRITON, server, status);
        }

        private static boolean isRuntime(String name, JsonNode server, JsonNode status) {
            return name.equals(server.path("runtime").asText())
                    || name.equals(status.path("servingRuntimeName").asText())
                    || name.equals(status.path("clusterServingRuntimeName").asText());
        }
    }
}
