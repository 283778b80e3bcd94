package dev.isthmus.gateway.fleet.kserve;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What counts of an InferenceService, {@code serving.kserve.io/v1beta1}.
 *
 * @param known whether it is ready, or has been
 * @param protocol of its predictor: v2, grpc-v2, or one that is not the Open Inference Protocol
 * @param revisions of Knative that get calls, with their percentages; empty if Knative does not deploy the predictor
 * @param port name of the first of several ports that the resource gives its predictor; null if there are not several
 */
record InferenceService(
        String name,
        boolean known,
        String protocol,
        Map<String, Integer> revisions,
        @Nullable String port) {
    private static final String V2 = "v2";
    private static final String V1 = "v1";
    private static final String CONTAINER = "kserve-container";

    /** Runtimes for which KServe's controller takes v2 as the default. */
    private static final Set<String> V2_RUNTIMES = Set.of("kserve-mlserver", "kserve-tritonserver");

    private static final Set<String> KNATIVE = Set.of("Serverless", "Knative");

    InferenceService {
        revisions = Collections.unmodifiableMap(new LinkedHashMap<>(revisions));
    }

    static InferenceService of(JsonNode resource) {
        JsonNode status = resource.path("status");
        JsonNode predictor = status.path("components").path("predictor");
        JsonNode server = server(resource.path("spec").path("predictor"));
        return new InferenceService(
                resource.path("metadata").path("name").asText(),
                // KServe sets the URL when the predictor is ready for the first time, and leaves it.
                isReady(status) || predictor.hasNonNull("url"),
                protocol(server, status),
                revisions(resource, predictor),
                server.path("ports").size() > 1
                        ? server.path("ports").path(0).path("name").textValue()
                        : null);
    }

    private static boolean isReady(JsonNode status) {
        for (JsonNode condition : status.path("conditions")) {
            if (condition.path("type").asText().equals("Ready")) {
                return condition.path("status").asText().equals("True");
            }
        }
        return false;
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
        boolean v2 = server.path("modelFormat").path("name").asText().equals("triton")
                || V2_RUNTIMES.contains(server.path("runtime").asText())
                || V2_RUNTIMES.contains(status.path("servingRuntimeName").asText())
                || V2_RUNTIMES.contains(status.path("clusterServingRuntimeName").asText());
        return v2 ? V2 : V1;
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
