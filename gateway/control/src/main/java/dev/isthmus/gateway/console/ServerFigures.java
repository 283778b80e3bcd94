package dev.isthmus.gateway.console;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Adds to the document {@code /servers} what the meters say of each server and upstream. */
public final class ServerFigures {
    private static final Set<String> METERS = Set.of(
            "isthmus.endpoint.requests",
            "isthmus.endpoint.ejections",
            "isthmus.endpoint.under.way",
            "isthmus.endpoint.concurrency.limit",
            "isthmus.endpoint.pending",
            "isthmus.upstream.breaker.state",
            "isthmus.upstream.under.way",
            "isthmus.upstream.requests.limit",
            "isthmus.upstream.hedges",
            "isthmus.upstream.queue.waiting",
            "isthmus.upstream.queue.wait",
            "isthmus.upstream.rejected");
    private static final List<String> BREAKER = List.of("closed", "half_open", "open");

    private final Map<SubjectKey, ObjectNode> servers = new HashMap<>();
    private final Map<String, ObjectNode> upstreams = new TreeMap<>();

    /** The meters that {@link #addTo} reads. */
    public static MeterIndex meters(MeterRegistry registry) {
        return new MeterIndex(registry, METERS);
    }

    /**
     * Adds what the meters say now.
     *
     * @param meters those of servers and upstreams
     */
    public static ObjectNode addTo(ObjectNode document, MeterIndex meters) {
        ServerFigures figures = new ServerFigures();
        meters.forEach(figures::read);
        for (JsonNode each : document.path("servers")) {
            ObjectNode known = figures.servers.get(new SubjectKey(
                    each.path("upstream").asText(), each.path("server").asText()));
            if (known != null) {
                ((ObjectNode) each).setAll(known);
            }
        }
        ArrayNode list = document.putArray("upstreams");
        figures.upstreams.values().forEach(list::add);
        return document;
    }

    /** The queue and the limit of a server, the hedges and the queue of an upstream are there only if it has them. */
    private void read(Meter meter) {
        switch (meter.getId().getName()) {
            case "isthmus.endpoint.under.way" -> add(server(meter), "in_flight", meter);
            case "isthmus.endpoint.concurrency.limit" -> add(server(meter), "limit", meter);
            case "isthmus.endpoint.pending" -> add(server(meter), "queue", meter);
            case "isthmus.endpoint.ejections" -> add(server(meter), "ejections", meter);
            case "isthmus.upstream.under.way" -> add(upstream(meter), "in_flight", meter);
            case "isthmus.upstream.requests.limit" -> add(upstream(meter), "limit", meter);
            case "isthmus.upstream.rejected" -> {
                if (FleetReading.tag(meter, "cause").startsWith("queue_")) {
                    add(upstream(meter), "queue_refused", meter);
                }
            }
            case "isthmus.upstream.queue.waiting" -> add(upstream(meter), "waiting", meter);
            case "isthmus.upstream.breaker.state" ->
                upstream(meter).put("breaker", BREAKER.get(Math.clamp((long) value(meter), 0, BREAKER.size() - 1)));
            case "isthmus.upstream.hedges" -> {
                boolean sent = FleetReading.tag(meter, "event").equals("sent");
                if (sent || FleetReading.tag(meter, "event").equals("won")) {
                    add(upstream(meter), sent ? "hedged" : "hedges_won", meter);
                }
            }
            case "isthmus.upstream.queue.wait" -> {
                if (meter instanceof Timer waits) {
                    double mean = waits.totalTime(TimeUnit.SECONDS) / waits.count();
                    upstream(meter).put("mean_wait", Double.isFinite(mean) ? (Double) mean : null);
                }
            }
            default -> {
                if (meter instanceof FunctionTimer attempts) {
                    add(server(meter), attempts, FleetReading.tag(meter, "outcome"));
                }
            }
        }
    }

    private static void add(ObjectNode server, FunctionTimer attempts, String outcome) {
        add(server, "calls", attempts.count());
        switch (outcome) {
            case "failed" -> add(server, "failed", attempts.count());
            case "error", "unavailable" -> add(server, "server_errors", attempts.count());
            default -> {}
        }
        server.put("seconds", server.path("seconds").asDouble() + attempts.totalTime(TimeUnit.SECONDS));
    }

    private static void add(ObjectNode figures, String name, Meter meter) {
        add(figures, name, value(meter));
    }

    private static void add(ObjectNode figures, String name, double value) {
        if (Double.isFinite(value)) {
            figures.put(name, figures.path(name).asLong() + (long) value);
        }
    }

    /** Of a counter or gauge. */
    private static double value(Meter meter) {
        return meter.measure().iterator().next().getValue();
    }

    private ObjectNode server(Meter meter) {
        return servers.computeIfAbsent(
                SubjectKey.of(meter, "upstream", "endpoint"),
                key -> JsonNodeFactory.instance
                        .objectNode()
                        .put("in_flight", 0)
                        .put("ejections", 0)
                        .put("calls", 0)
                        .put("failed", 0)
                        .put("server_errors", 0)
                        .put("seconds", 0.0));
    }

    private ObjectNode upstream(Meter meter) {
        return upstreams.computeIfAbsent(
                FleetReading.tag(meter, "upstream"),
                name -> JsonNodeFactory.instance
                        .objectNode()
                        .put("upstream", name)
                        .put("breaker", BREAKER.getFirst())
                        .put("in_flight", 0)
                        .put("limit", 0));
    }
}
