package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.console.CallTotals;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What happened between two samples. Only inferences count. */
final class FleetRates {
    private static final double MILLIS = 1000;

    private FleetRates() {}

    /**
     * What a gateway has counted at one moment.
     *
     * @param nanos on the scale of {@link System#nanoTime()}
     * @param models the document {@code /console/totals}
     * @param servers the document {@code /servers}
     */
    record FleetSample(long nanos, JsonNode models, JsonNode servers) {}

    /**
     * The rates from one sample to the next, of models, the busiest first, and of servers, in the gateway's order.
     * Counters that fell, as after a restart, count from 0.
     */
    static ObjectNode between(FleetSample before, FleetSample after) {
        double seconds = Math.max(1, after.nanos() - before.nanos()) / (double) TimeUnit.SECONDS.toNanos(1);
        ObjectNode rates = JsonNodeFactory.instance.objectNode().put("seconds", seconds);
        List<ObjectNode> models = new ArrayList<>();
        Map<JsonNode, JsonNode> earlier = byName(before.models().path("models"), "model");
        for (JsonNode now : after.models().path("models")) {
            JsonNode then = earlier.get(key(now, "model"));
            CallTotals calls = CallTotals.of(now).grownSince(then == null ? null : CallTotals.of(then));
            String name = now.path("model").asText();
            models.add(model(name, calls, seconds)
                    .put(
                            "in_flight",
                            after.models().path("in_flight").path(name).asDouble()));
        }
        models.sort(Comparator.comparing(
                        (ObjectNode each) -> each.path("requests_per_second").asDouble())
                .reversed()
                .thenComparing(each -> each.path("model").asText()));
        rates.putArray("models").addAll(models);
        ArrayNode servers = rates.putArray("servers");
        earlier = byName(before.servers().path("servers"), "upstream", "server");
        for (JsonNode now : after.servers().path("servers")) {
            JsonNode then = earlier.getOrDefault(key(now, "upstream", "server"), JsonNodeFactory.instance.objectNode());
            servers.addObject()
                    .put("upstream", now.path("upstream").asText())
                    .put("server", now.path("server").asText())
                    .put("ready", now.path("ready").asBoolean())
                    .put("ejected", now.path("ejected").asBoolean())
                    .put("reason", now.path("reason").asText())
                    .put("requests_per_second", grown(then, now, "calls") / seconds)
                    .put("failed_per_second", grown(then, now, "failed") / seconds)
                    .put("errors_per_second", grown(then, now, "server_errors") / seconds)
                    .put("in_flight", now.path("in_flight").asDouble());
        }
        return rates;
    }

    private static ObjectNode model(String name, CallTotals calls, double seconds) {
        ObjectNode model = JsonNodeFactory.instance
                .objectNode()
                .put("model", name)
                .put("requests_per_second", calls.calls() / seconds)
                .put("failed_per_second", calls.serverErrors() / seconds)
                .put("rejected_per_second", calls.clientErrors() / seconds);
        return calls.answered() == 0
                ? model
                : model.put("p50_ms", calls.percentile(0.5) * MILLIS).put("p99_ms", calls.percentile(0.99) * MILLIS);
    }

    private static Map<JsonNode, JsonNode> byName(JsonNode list, String... names) {
        Map<JsonNode, JsonNode> all = new HashMap<>();
        list.forEach(each -> all.put(key(each, names), each));
        return all;
    }

    private static JsonNode key(JsonNode node, String... names) {
        ArrayNode key = JsonNodeFactory.instance.arrayNode();
        for (String name : names) {
            key.add(node.path(name));
        }
        return key;
    }

    private static double grown(JsonNode before, JsonNode after, String counter) {
        double then = before.path(counter).asDouble();
        double now = after.path(counter).asDouble();
        return now < then ? now : now - then;
    }
}
