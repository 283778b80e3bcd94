package dev.isthmus.gateway.console;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
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
            "isthmus.upstream.queue.refused");
    private static final List<String> BREAKER = List.of("closed", "half_open", "open");

    private final Map<SubjectKey, ServerCounts> servers = new HashMap<>();
    private final Map<String, UpstreamCounts> upstreams = new TreeMap<>();

    /** What is counted of one server. */
    private static final class ServerCounts {
        private long inFlight;
        private double queue = Double.NaN;
        private double limit = Double.NaN;
        private long ejections;
        private long calls;
        private long failed;
        private long serverErrors;
        private double seconds;
    }

    /** What is counted of one upstream. */
    private static final class UpstreamCounts {
        private int breaker;
        private long inFlight;
        private long limit;
        private double hedged = Double.NaN;
        private long hedgesWon;
        private double waiting = Double.NaN;
        private long refused;
        private double meanWait = Double.NaN;
    }

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
            figures.add((ObjectNode) each);
        }
        ArrayNode list = document.putArray("upstreams");
        figures.upstreams.forEach((name, counts) -> add(list.addObject(), name, counts));
        return document;
    }

    private static void add(ObjectNode upstream, String name, UpstreamCounts counts) {
        upstream.put("upstream", name)
                .put("breaker", BREAKER.get(Math.clamp(counts.breaker, 0, BREAKER.size() - 1)))
                .put("in_flight", counts.inFlight)
                .put("limit", counts.limit);
        // Only with hedging.
        if (Double.isFinite(counts.hedged)) {
            upstream.put("hedged", (long) counts.hedged).put("hedges_won", counts.hedgesWon);
        }
        // Only with a queue.
        if (Double.isFinite(counts.waiting)) {
            upstream.put("waiting", (long) counts.waiting).put("queue_refused", counts.refused);
            upstream.set("mean_wait", Double.isFinite(counts.meanWait) ? DoubleNode.valueOf(counts.meanWait) : null);
        }
    }

    private void add(ObjectNode server) {
        ServerCounts counts = servers.get(new SubjectKey(
                server.path("upstream").asText(), server.path("server").asText()));
        if (counts == null) {
            return;
        }
        server.put("in_flight", counts.inFlight)
                .put("ejections", counts.ejections)
                .put("calls", counts.calls)
                .put("failed", counts.failed)
                .put("server_errors", counts.serverErrors)
                .put("seconds", counts.seconds);
        // Unknown unless the upstream's balancing is queue_aware.
        if (Double.isFinite(counts.queue)) {
            server.put("queue", (long) counts.queue);
        }
        // Only with adaptive_concurrency.
        if (Double.isFinite(counts.limit)) {
            server.put("limit", (long) counts.limit);
        }
    }

    private void read(Meter meter) {
        switch (meter) {
            case Gauge gauge -> read(gauge);
            case Counter counter when name(meter).equals("isthmus.upstream.hedges") -> hedges(counter);
            case Counter counter
            when name(meter).equals("isthmus.upstream.queue.refused") ->
                upstream(meter).refused += (long) counter.count();
            case Timer waits
            when name(meter).equals("isthmus.upstream.queue.wait") ->
                upstream(meter).meanWait = waits.totalTime(TimeUnit.SECONDS) / waits.count();
            case FunctionTimer timer
            when name(meter).equals("isthmus.endpoint.requests") -> {
                ServerCounts counts = server(meter);
                long calls = (long) timer.count();
                counts.calls += calls;
                switch (FleetReading.tag(meter, "outcome")) {
                    case "failed" -> counts.failed += calls;
                    case "error", "unavailable" -> counts.serverErrors += calls;
                    default -> {}
                }
                counts.seconds += timer.totalTime(TimeUnit.SECONDS);
            }
            case FunctionCounter counter
            when name(meter).equals("isthmus.endpoint.ejections") -> server(meter).ejections = (long) counter.count();
            default -> {}
        }
    }

    private void hedges(Counter counter) {
        switch (FleetReading.tag(counter, "event")) {
            case "sent" -> upstream(counter).hedged = counter.count();
            case "won" -> upstream(counter).hedgesWon = (long) counter.count();
            default -> {}
        }
    }

    private void read(Gauge gauge) {
        switch (name(gauge)) {
            case "isthmus.endpoint.under.way" -> server(gauge).inFlight = (long) gauge.value();
            case "isthmus.endpoint.concurrency.limit" -> server(gauge).limit = gauge.value();
            case "isthmus.endpoint.pending" -> server(gauge).queue = gauge.value();
            case "isthmus.upstream.breaker.state" -> upstream(gauge).breaker = (int) gauge.value();
            case "isthmus.upstream.under.way" -> upstream(gauge).inFlight = (long) gauge.value();
            case "isthmus.upstream.queue.waiting" -> upstream(gauge).waiting = gauge.value();
            case "isthmus.upstream.requests.limit" -> upstream(gauge).limit = (long) gauge.value();
            default -> {}
        }
    }

    private static String name(Meter meter) {
        return meter.getId().getName();
    }

    private ServerCounts server(Meter meter) {
        return servers.computeIfAbsent(
                SubjectKey.of(meter, "upstream", "endpoint"), key -> new ServerCounts());
    }

    private UpstreamCounts upstream(Meter meter) {
        return upstreams.computeIfAbsent(FleetReading.tag(meter, "upstream"), name -> new UpstreamCounts());
    }
}
