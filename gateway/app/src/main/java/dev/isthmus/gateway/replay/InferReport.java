package dev.isthmus.gateway.replay;

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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** How the requests of an {@link InferRun} ended. Thread-safe. */
public final class InferReport {
    // Guarded by this.
    private final long[] latencies;
    private final Map<ModelRef, Integer> targets =
            new TreeMap<>(Comparator.comparing(ModelRef::name).thenComparing(ModelRef::version));
    private final Map<ErrorCode, Failures> failures = new EnumMap<>(ErrorCode.class);
    private int answered;
    private int failed;
    private long nanos;
    private @Nullable String response;

    /**
     * The latencies of responses, in nanoseconds.
     *
     * @param p50 what half of them did not exceed
     */
    public record Latencies(long min, long p50, long p95, long p99, long max) {}

    /**
     * The responses of one model and version, as they name it.
     *
     * @param share of all responses
     */
    public record VersionShare(ModelRef model, int responses, double share) {}

    /**
     * The failures of one code.
     *
     * @param message of the first
     */
    public record Failures(ErrorCode code, int count, String message) {
        Failures more() {
            return new Failures(code, count + 1, message);
        }
    }

    InferReport(int count) {
        latencies = new long[count];
    }

    /** @param received taken */
    synchronized void answered(InferResponse received, long afterNanos) {
        latencies[answered] = afterNanos;
        answered++;
        targets.merge(received.model(), 1, Integer::sum);
        if (response == null) {
            response = text(received);
        } else {
            received.release();
        }
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
        failures.merge(
                failure.code(), new Failures(failure.code(), 1, failure.message()), (known, next) -> known.more());
    }

    synchronized void ended(long afterNanos) {
        nanos = afterNanos;
    }

    public synchronized int answered() {
        return answered;
    }

    public synchronized int failed() {
        return failed;
    }

    /** The first response, as a REST client gets it; null if there is none. */
    public synchronized @Nullable String response() {
        return response;
    }

    /** The failures of each code. */
    public synchronized List<Failures> failures() {
        return List.copyOf(failures.values());
    }

    /** By model and version. */
    public synchronized List<VersionShare> targets() {
        List<VersionShare> shares = new ArrayList<>();
        targets.forEach((model, count) -> shares.add(new VersionShare(model, count, (double) count / answered)));
        return shares;
    }

    /** All 0 without a response. */
    public synchronized Latencies latencies() {
        if (answered == 0) {
            return new Latencies(0, 0, 0, 0, 0);
        }
        long[] sorted = Arrays.copyOf(latencies, answered);
        Arrays.sort(sorted);
        return new Latencies(
                sorted[0],
                percentile(sorted, 0.5),
                percentile(sorted, 0.95),
                percentile(sorted, 0.99),
                sorted[sorted.length - 1]);
    }

    private static long percentile(long[] sorted, double share) {
        return sorted[Math.max(0, (int) Math.ceil(sorted.length * share) - 1)];
    }

    public synchronized double perSecond() {
        return nanos == 0 ? 0 : (answered + failed) * (double) TimeUnit.SECONDS.toNanos(1) / nanos;
    }

    /** The report for programs. The response is part of it if there was one request. */
    public synchronized ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("sent", answered + failed)
                .put("answered", answered)
                .put("failed", failed)
                .put("seconds", nanos / (double) TimeUnit.SECONDS.toNanos(1))
                .put("requests_per_second", perSecond());
        Latencies times = latencies();
        document.putObject("latency_ms")
                .put("min", millis(times.min()))
                .put("p50", millis(times.p50()))
                .put("p95", millis(times.p95()))
                .put("p99", millis(times.p99()))
                .put("max", millis(times.max()));
        ArrayNode shares = document.putArray("targets");
        for (VersionShare target : targets()) {
            shares.addObject()
                    .put("model", target.model().name())
                    .put("version", target.model().version())
                    .put("responses", target.responses())
                    .put("share", target.share());
        }
        ArrayNode failed = document.putArray("failures");
        for (Failures each : failures()) {
            failed.addObject()
                    .put("code", each.code().name())
                    .put("count", each.count())
                    .put("message", each.message());
        }
        if (latencies.length == 1 && response != null) {
            document.putRawValue("response", new RawValue(response));
        }
        return document;
    }

    private static double millis(long nanos) {
        return nanos / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }
}
