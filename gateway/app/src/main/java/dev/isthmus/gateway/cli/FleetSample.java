package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * The counters of a gateway at one moment. Only inferences count.
 *
 * @param nanos on the scale of {@link System#nanoTime()}
 * @param models by route
 * @param servers by upstream and server
 * @param document the servers and their health
 */
record FleetSample(
        long nanos, Map<String, ModelCounters> models, Map<String, ServerCounters> servers, JsonNode document) {
    private static final Set<String> INFERENCES = Set.of("infer", "infer_stream", "generate", "generate_stream");
    /** The errors that alerts count: not those of clients. */
    private static final Set<String> FAILURES = Set.of(
            "UNAVAILABLE",
            "OVERLOADED",
            "INTERNAL",
            "DEADLINE_EXCEEDED",
            "UNKNOWN",
            "DATA_LOSS",
            "BAD_UPSTREAM_ANSWER",
            "LOOP_DETECTED");

    /** The counters of one route. */
    static final class ModelCounters {
        double calls;
        double failed;
        /** Refused because of what the client sent. */
        double rejected;

        double underWay;
        /** Of successful calls, by upper bound in seconds. */
        final NavigableMap<Double, Double> buckets = new TreeMap<>();
        /** Their durations together. */
        double seconds;
        /** The duration of the longest one of the last minutes. */
        double longest;
    }

    /** The counters of one server. */
    static final class ServerCounters {
        double tries;
        /** Without a valid response. */
        double failed;
        /** Answered with a 5xx status. */
        double errors;

        double underWay;
    }

    /** Reads the metrics' text. */
    static FleetSample of(long nanos, String metrics, JsonNode document) {
        FleetSample sample = new FleetSample(nanos, new HashMap<>(), new HashMap<>(), document);
        metrics.lines().filter(line -> line.startsWith("isthmus_")).forEach(line -> {
            MetricSample each = MetricSample.parse(line);
            if (each != null) {
                sample.add(each);
            }
        });
        return sample;
    }

    /** The key of a server. */
    static String server(String upstream, String server) {
        return upstream + '\n' + server;
    }

    private ModelCounters model(MetricSample sample) {
        return models.computeIfAbsent(sample.label("model"), model -> new ModelCounters());
    }

    private ServerCounters server(MetricSample sample) {
        return servers.computeIfAbsent(
                server(sample.label("upstream"), sample.label("endpoint")), server -> new ServerCounters());
    }

    private void add(MetricSample sample) {
        double value = sample.value();
        switch (sample.name()) {
            case "isthmus_requests_seconds_count" -> count(sample);
            case "isthmus_requests_seconds_bucket" -> {
                if (succeeded(sample)) {
                    model(sample).buckets.merge(bound(sample.label("le")), value, Double::sum);
                }
            }
            case "isthmus_requests_seconds_sum" -> {
                if (succeeded(sample)) {
                    model(sample).seconds += value;
                }
            }
            case "isthmus_requests_seconds_max" -> {
                if (succeeded(sample)) {
                    model(sample).longest = Math.max(model(sample).longest, value);
                }
            }
            case "isthmus_model_requests_under_way" -> model(sample).underWay += value;
            case "isthmus_endpoint_requests_seconds_count" -> {
                ServerCounters server = server(sample);
                server.tries += value;
                switch (sample.label("outcome")) {
                    case "failed" -> server.failed += value;
                    case "error", "unavailable" -> server.errors += value;
                    default -> {}
                }
            }
            case "isthmus_endpoint_under_way" -> server(sample).underWay += value;
            default -> {}
        }
    }

    private static boolean succeeded(MetricSample sample) {
        return INFERENCES.contains(sample.label("operation"))
                && sample.label("code").equals("OK");
    }

    private void count(MetricSample sample) {
        if (!INFERENCES.contains(sample.label("operation"))) {
            return;
        }
        ModelCounters model = model(sample);
        String code = sample.label("code");
        model.calls += sample.value();
        if (FAILURES.contains(code)) {
            model.failed += sample.value();
        } else if (!code.equals("OK") && !code.equals("CANCELLED")) {
            model.rejected += sample.value();
        }
    }

    private static double bound(String text) {
        return text.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(text);
    }
}
