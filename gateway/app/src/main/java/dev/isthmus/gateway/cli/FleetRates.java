package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.cli.FleetSample.ModelCounters;
import dev.isthmus.gateway.cli.FleetSample.ServerCounters;
import dev.isthmus.gateway.metrics.HistogramQuantile;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * What happened between two samples.
 *
 * @param seconds between them
 * @param models the busiest first
 * @param servers in the gateway's order
 */
record FleetRates(double seconds, List<ModelRates> models, List<ServerRates> servers) {
    private static final double MILLIS = 1000;

    FleetRates {
        models = List.copyOf(models);
        servers = List.copyOf(servers);
    }

    /**
     * One route.
     *
     * @param calls per second
     * @param failed per second, because of a server or the gateway
     * @param rejected per second, because of the client
     * @param p50 the latency that half of the successful calls did not exceed, in seconds; NaN without calls
     * @param underWay calls at the second sample
     */
    record ModelRates(
            String model, double calls, double failed, double rejected, double p50, double p99, double underWay) {}

    /**
     * One server.
     *
     * @param tries per second
     * @param failed tries per second, without a valid response
     * @param errors tries per second, answered with a 5xx status
     * @param health as the gateway has it
     */
    record ServerRates(double tries, double failed, double errors, double underWay, JsonNode health) {}

    /** The rates from one sample to the next; counters that fell, as after a restart, count from 0. */
    static FleetRates between(FleetSample before, FleetSample after) {
        double seconds = Math.max(1, after.nanos() - before.nanos()) / (double) TimeUnit.SECONDS.toNanos(1);
        List<ModelRates> models = new ArrayList<>();
        after.models().forEach((name, now) -> {
            ModelCounters then = before.models().getOrDefault(name, new ModelCounters());
            models.add(model(name, then, now, seconds));
        });
        models.sort(Comparator.comparingDouble(ModelRates::calls).reversed().thenComparing(ModelRates::model));
        List<ServerRates> servers = new ArrayList<>();
        for (JsonNode health : after.document().path("servers")) {
            String key = FleetSample.server(
                    health.path("upstream").asText(), health.path("server").asText());
            ServerCounters now = after.servers().getOrDefault(key, new ServerCounters());
            ServerCounters then = before.servers().getOrDefault(key, new ServerCounters());
            servers.add(new ServerRates(
                    grown(then.tries, now.tries) / seconds,
                    grown(then.failed, now.failed) / seconds,
                    grown(then.errors, now.errors) / seconds,
                    now.underWay,
                    health));
        }
        return new FleetRates(seconds, models, servers);
    }

    private static ModelRates model(String name, ModelCounters then, ModelCounters now, double seconds) {
        NavigableMap<Double, Double> buckets = new TreeMap<>();
        now.buckets.forEach((bound, count) -> buckets.put(bound, grown(then.buckets.getOrDefault(bound, 0.0), count)));
        double sum = grown(then.seconds, now.seconds);
        return new ModelRates(
                name,
                grown(then.calls, now.calls) / seconds,
                grown(then.failed, now.failed) / seconds,
                grown(then.rejected, now.rejected) / seconds,
                quantile(buckets, sum, now.longest, 0.5),
                quantile(buckets, sum, now.longest, 0.99),
                now.underWay);
    }

    private static double grown(double before, double after) {
        return after < before ? after : after - before;
    }

    /**
     * By {@link HistogramQuantile}.
     *
     * @param buckets cumulative counts by upper bound, in seconds
     * @param sum of the seconds
     * @param longest of the seconds
     */
    static double quantile(NavigableMap<Double, Double> buckets, double sum, double longest, double share) {
        double count = buckets.isEmpty() ? 0 : buckets.lastEntry().getValue();
        NavigableMap<Double, Double> finite = buckets.headMap(Double.POSITIVE_INFINITY, false);
        double[] bounds = finite.keySet().stream().mapToDouble(each -> each).toArray();
        double[] within = finite.values().stream().mapToDouble(each -> each).toArray();
        return HistogramQuantile.of(share, bounds, within, count, sum, longest);
    }

    /** The sum of all models. */
    ModelRates total() {
        double calls = 0;
        double failed = 0;
        double rejected = 0;
        double underWay = 0;
        for (ModelRates each : models) {
            calls += each.calls();
            failed += each.failed();
            rejected += each.rejected();
            underWay += each.underWay();
        }
        return new ModelRates("", calls, failed, rejected, Double.NaN, Double.NaN, underWay);
    }

    /** The rates as JSON. */
    ObjectNode document() {
        ObjectNode json = JsonNodeFactory.instance.objectNode().put("seconds", seconds);
        ArrayNode all = json.putArray("models");
        for (ModelRates model : models) {
            ObjectNode node = all.addObject()
                    .put("model", model.model())
                    .put("requests_per_second", model.calls())
                    .put("failed_per_second", model.failed())
                    .put("rejected_per_second", model.rejected())
                    .put("in_flight", model.underWay());
            if (!Double.isNaN(model.p50())) {
                node.put("p50_ms", model.p50() * MILLIS).put("p99_ms", model.p99() * MILLIS);
            }
        }
        ArrayNode list = json.putArray("servers");
        for (ServerRates server : servers) {
            list.addObject()
                    .put("upstream", server.health().path("upstream").asText())
                    .put("server", server.health().path("server").asText())
                    .put("ready", server.health().path("ready").asBoolean())
                    .put("ejected", server.health().path("ejected").asBoolean())
                    .put("reason", server.health().path("reason").asText())
                    .put("requests_per_second", server.tries())
                    .put("failed_per_second", server.failed())
                    .put("errors_per_second", server.errors())
                    .put("in_flight", server.underWay());
        }
        return json;
    }
}
