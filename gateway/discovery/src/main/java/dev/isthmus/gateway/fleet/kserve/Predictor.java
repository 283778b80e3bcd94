package dev.isthmus.gateway.fleet.kserve;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

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
        over.properties().forEach(each -> merged.set(each.getKey(), merged(base.path(each.getKey()), each.getValue())));
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
        return server.path("modelFormat").path("name").asText().equals("triton") || isRuntime(TRITON, server, status);
    }

    private static boolean isRuntime(String name, JsonNode server, JsonNode status) {
        return name.equals(server.path("runtime").asText())
                || name.equals(status.path("servingRuntimeName").asText())
                || name.equals(status.path("clusterServingRuntimeName").asText());
    }
}
