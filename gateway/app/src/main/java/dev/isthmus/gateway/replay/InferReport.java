package dev.isthmus.gateway.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How the requests of an {@link InferRun} ended. Thread-safe. */
public final class InferReport {
    static final double NANOS = 1e9;

    // Guarded by this.
    private final long[] latencies;
    private final Map<ModelRef, Integer> targets =
            new TreeMap<>(Comparator.comparing(ModelRef::name).thenComparing(ModelRef::version));
    private final Map<ErrorCode, ObjectNode> failures = new EnumMap<>(ErrorCode.class);
    private int answered;
    private int failed;
    private long nanos;
    private @Nullable String response;

    InferReport(int count) {
        latencies = new long[count];
    }

    /** @param received taken */
    synchronized void answered(InferResponse received, long afterNanos) {
        if (response == null) {
            response = text(received);
        } else {
            received.release();
        }
        latencies[answered] = afterNanos;
        answered++;
        targets.merge(received.model(), 1, Integer::sum);
    }

    /** @param received taken */
    private static String text(InferResponse received) {
        RestBody body = RestWriter.response(ByteBufAllocator.DEFAULT, received, OutputForms.JSON);
        try {
            return body.content().toString(StandardCharsets.UTF_8);
        } finally {
            body.release();
        }
    }

    synchronized void failed(OipException failure) {
        failed++;
        ObjectNode known = failures.computeIfAbsent(
                failure.code(),
                code -> JsonNodeFactory.instance
                        .objectNode()
                        .put("code", code.name())
                        .put("count", 0)
                        .put("message", failure.message()));
        known.put("count", known.path("count").asInt() + 1);
    }

    synchronized void ended(long afterNanos) {
        nanos = afterNanos;
    }

    public synchronized int failed() {
        return failed;
    }

    /** The first response, as a REST client gets it; null if there is none. */
    public synchronized @Nullable String response() {
        return response;
    }

    /** The latencies of a report on one line, for people. */
    public static String latencies(JsonNode report) {
        return report.path("latency_ms").properties().stream()
                .map(each -> String.format(
                        Locale.ROOT,
                        "%s %.3f ms",
                        each.getKey(),
                        each.getValue().asDouble()))
                .collect(Collectors.joining(", ", "latency: ", ""));
    }

    /** The milliseconds that a share of responses did not exceed; 0 without a response. */
    private static double percentile(long[] sorted, double share) {
        int place = Math.max(0, (int) Math.ceil(sorted.length * share) - 1);
        return sorted.length == 0 ? 0 : sorted[place] / 1e6;
    }

    /** The report for programs. The response is part of it if there was one request. */
    public synchronized ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("sent", answered + failed)
                .put("answered", answered)
                .put("failed", failed)
                .put("seconds", nanos / NANOS)
                .put("requests_per_second", nanos == 0 ? 0 : (answered + failed) * NANOS / nanos);
        long[] sorted = Arrays.copyOf(latencies, answered);
        Arrays.sort(sorted);
        document.putObject("latency_ms")
                .put("min", percentile(sorted, 0))
                .put("p50", percentile(sorted, 0.5))
                .put("p95", percentile(sorted, 0.95))
                .put("p99", percentile(sorted, 0.99))
                .put("max", percentile(sorted, 1));
        ArrayNode shares = document.putArray("targets");
        targets.forEach((model, count) -> shares.addObject()
                .put("model", model.name())
                .put("version", model.version())
                .put("responses", count)
                .put("share", (double) count / answered));
        document.putArray("failures").addAll(failures.values());
        if (latencies.length == 1 && response != null) {
            document.putRawValue("response", new RawValue(response));
        }
        return document;
    }
}
