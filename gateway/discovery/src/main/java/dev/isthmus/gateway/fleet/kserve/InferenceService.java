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
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What counts of an InferenceService, {@code serving.kserve.io/v1beta1}.
 *
 * @param known whether it is ready, or has been
 * @param stable the predictor that gets the calls that no canary gets
 * @param canaries that are ready and get calls; since KServe 0.20, and not with Knative
 * @param revisions of Knative that get calls, with their percentages; empty if Knative does not deploy the predictor
 * @param annotations for the gateway, by what follows {@value #ANNOTATION}
 */
record InferenceService(
        String name,
        boolean known,
        Predictor stable,
        List<Canary> canaries,
        Map<String, Integer> revisions,
        SortedMap<String, String> annotations) {
    static final String ANNOTATION = "isthmus.dev/";

    private static final Set<String> KNATIVE = Set.of("Serverless", "Knative");
    private static final Set<String> TORCH_SERVE = Set.of("torchserve", "kserve-torchserve");

    /** A predictor that gets a percentage of the calls. */
    record Canary(Predictor predictor, int percent) {}

    InferenceService {
        canaries = List.copyOf(canaries);
        revisions = Collections.unmodifiableMap(new LinkedHashMap<>(revisions));
        annotations = Collections.unmodifiableSortedMap(new TreeMap<>(annotations));
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
                revisions(resource, predictor),
                annotations(resource.path("metadata").path("annotations")));
    }

    private static SortedMap<String, String> annotations(JsonNode all) {
        SortedMap<String, String> own = new TreeMap<>();
        all.properties().stream()
                .filter(each -> each.getKey().startsWith(ANNOTATION))
                .forEach(each -> own.put(
                        each.getKey().substring(ANNOTATION.length()),
                        each.getValue().asText()));
        return own;
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
            // A canary has the stable predictor's values where it sets none.
            JsonNode own = merged(spec.path("predictor"), canary.path("predictor"));
            Predictor predictor = Predictor.of(own, status);
            int percent = canary.path("trafficPercent").asInt();
            if (percent > 0 && ready.remove(predictor.name())) {
                canaries.add(new Canary(predictor, percent));
            }
        }
        return canaries;
    }

    private static JsonNode merged(JsonNode base, JsonNode over) {
        if (!(base instanceof ObjectNode object) || !over.isObject()) {
            return over;
        }
        ObjectNode merged = object.deepCopy();
        over.properties().forEach(each -> merged.set(each.getKey(), merged(base.path(each.getKey()), each.getValue())));
        return merged;
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
     * @param protocol v2, grpc-v2, or one that is not the Open Inference Protocol; null if its runtime decides
     * @param runtime that the resource names or KServe chose; null if neither is known
     * @param assumed the protocol if nothing is known of the runtime, as KServe's controller takes it
     * @param ports names of the ports that the resource gives it; empty if they are those of the runtime
     */
    record Predictor(
            String name,
            @Nullable String protocol,
            @Nullable String runtime,
            String assumed,
            List<String> ports) {
        private static final String CONTAINER = "kserve-container";
        private static final Set<String> V2_RUNTIMES = Set.of("kserve-mlserver", "kserve-tritonserver");

        static Predictor of(JsonNode spec, JsonNode status) {
            JsonNode server = server(spec);
            String name = spec.path("name").asText();
            String runtime = runtime(server, status);
            boolean triton = server.path("modelFormat").path("name").asText().equals("triton");
            return new Predictor(
                    name.matches("[a-z]([a-z0-9-]*[a-z0-9])?") ? name : "",
                    protocol(server),
                    runtime,
                    triton || (runtime != null && V2_RUNTIMES.contains(runtime)) ? "v2" : "v1",
                    portNames(server));
        }

        /**
         * Those that its server speaks.
         *
         * @param known its runtime; null if nothing is known of it
         */
        List<String> protocols(@Nullable ServingRuntime known) {
            if (protocol != null) {
                return List.of(protocol);
            }
            return known == null || known.protocols().isEmpty() ? List.of(assumed) : known.protocols();
        }

        String service(String inferenceService) {
            return inferenceService + (name.isEmpty() ? "" : "-" + name) + "-predictor";
        }

        /** The specification of the container that serves the model. */
        private static JsonNode server(JsonNode predictor) {
            return predictor.path("model").isObject() ? predictor.path("model") : container(predictor);
        }

        private static JsonNode container(JsonNode pod) {
            for (JsonNode container : pod.path("containers")) {
                if (container.path("name").asText().equals(CONTAINER)) {
                    return container;
                }
            }
            return pod.path("containers").path(0);
        }

        private static List<String> portNames(JsonNode container) {
            List<String> names = new ArrayList<>();
            container.path("ports").forEach(port -> names.add(port.path("name").asText()));
            return names;
        }

        private static @Nullable String protocol(JsonNode server) {
            if (server.hasNonNull("protocolVersion")) {
                return server.path("protocolVersion").asText();
            }
            for (JsonNode variable : server.path("env")) {
                if (variable.path("name").asText().equals("PROTOCOL")) {
                    return variable.path("value").asText("v1");
                }
            }
            return null;
        }

        private static @Nullable String runtime(JsonNode server, JsonNode status) {
            return Stream.of(
                            server.path("runtime"),
                            status.path("servingRuntimeName"),
                            status.path("clusterServingRuntimeName"))
                    .map(JsonNode::asText)
                    .filter(name -> server.has("modelFormat") && !name.isEmpty())
                    .findFirst()
                    .orElse(null);
        }
    }

    /**
     * What counts of a ServingRuntime or ClusterServingRuntime, {@code serving.kserve.io/v1alpha1}.
     *
     * @param protocols that its server speaks unless an InferenceService chooses another
     * @param ports names of its server's ports, that of KServe's routes first
     */
    record ServingRuntime(String name, List<String> protocols, List<String> ports) {
        static ServingRuntime of(JsonNode resource) {
            JsonNode metadata = resource.path("metadata");
            String name = metadata.path("name").asText();
            String type = metadata.path("annotations")
                    .path("serving.kserve.io/server-type")
                    .asText(name);
            List<String> protocols = new ArrayList<>();
            resource.path("spec").path("protocolVersions").forEach(each -> protocols.add(each.asText()));
            return new ServingRuntime(
                    name,
                    // KServe starts TorchServe for one protocol, which is v1 by default.
                    TORCH_SERVE.contains(type) ? List.of("v1") : protocols,
                    Predictor.portNames(Predictor.container(resource.path("spec"))));
        }
    }
}
