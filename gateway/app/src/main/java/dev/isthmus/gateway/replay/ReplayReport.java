package dev.isthmus.gateway.replay;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.ramp.LatencyHistogram;
import dev.isthmus.gateway.replay.ReplayRun.ReplaySettings;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.compare.OutputComparison;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/** The outcome of a replay. Thread-safe. */
public final class ReplayReport {
    /** Bad lines and failures that are listed; all are counted. */
    private static final int LISTED = 20;

    private final ReplaySettings settings;
    private final LatencyHistogram latencies = new LatencyHistogram();

    // Guarded by this.
    private final List<String> problems = new ArrayList<>();
    private final Map<String, OutputDifferences> outputs = new TreeMap<>();
    private long answered;
    private long failed;
    private long failedAgain;
    private long skipped;
    private long badLines;
    private long equal;
    private long different;
    private long slowestNanos;
    private long nanos;

    private static final class OutputDifferences {
        private long compared;
        private long different;
        private double largest = -1;
        private String worst = "";
    }

    ReplayReport(ReplaySettings settings) {
        this.settings = settings;
    }

    synchronized void badLine(long line, String expectation) {
        badLines++;
        problem(line, expectation);
    }

    private void problem(long line, String text) {
        if (problems.size() < LISTED) {
            problems.add(settings.file() + ":" + line + ": " + text);
        }
    }

    /** The file has become longer than what was read of it. */
    synchronized void grew(long read) {
        problems.add(settings.file() + ": grew while it was replayed, what came after its first " + read
                + " bytes was not sent; if " + settings.connection().to()
                + " writes its payload log into it, replay a copy");
    }

    /** A request was recorded without all of its data. */
    synchronized void skipped() {
        skipped++;
    }

    synchronized void answered(long afterNanos) {
        answered++;
        took(afterNanos);
    }

    /** @param again whether the recorded response is the same failure */
    synchronized void failed(RecordedEvent event, OipException failure, boolean again, long afterNanos) {
        failed++;
        took(afterNanos);
        if (again) {
            failedAgain++;
            return;
        }
        problem(event.line(), "request '" + event.id() + "' failed: " + failure.code() + ": " + failure.message());
    }

    /** Of a histogram, whose buckets end above their values: at most the slowest. */
    private long percentile(double share) {
        return Math.min(latencies.percentile(share), slowestNanos);
    }

    private void took(long afterNanos) {
        latencies.record(afterNanos);
        slowestNanos = Math.max(slowestNanos, afterNanos);
    }

    /** @param accepts whether an output is equal within the tolerance */
    synchronized void compared(
            RecordedEvent request,
            RecordedEvent response,
            List<OutputComparison> compared,
            Predicate<OutputComparison> accepts) {
        boolean same = true;
        for (OutputComparison output : compared) {
            if (response.tensorsOmitted() && isMissing(output)) {
                continue;
            }
            OutputDifferences differences = outputs.computeIfAbsent(output.name(), name -> new OutputDifferences());
            differences.compared++;
            if (!accepts.test(output)) {
                same = false;
                differences.different++;
                worst(differences, output, request);
            }
        }
        equal += same ? 1 : 0;
        different += same ? 0 : 1;
    }

    private static boolean isMissing(OutputComparison output) {
        return output instanceof OutputComparison.Unlike unlike
                && unlike.reason() == OutputComparison.Reason.NOT_IN_FIRST;
    }

    private static void worst(OutputDifferences differences, OutputComparison output, RecordedEvent request) {
        double size = difference(output);
        if (size > differences.largest) {
            differences.largest = size;
            differences.worst = said(output) + ", request '" + request.id() + "' in line " + request.line();
        }
    }

    private static double difference(OutputComparison output) {
        return switch (output) {
            case OutputComparison.Numbers numbers -> numbers.maxDifference();
            case OutputComparison.Elements elements -> elements.elements() - elements.equalElements();
            case OutputComparison.Unlike unlike -> Double.POSITIVE_INFINITY;
        };
    }

    private static String said(OutputComparison output) {
        return switch (output) {
            case OutputComparison.Numbers numbers -> "largest difference " + numbers.maxDifference();
            case OutputComparison.Elements elements ->
                (elements.elements() - elements.equalElements()) + " of " + elements.elements() + " elements differ";
            case OutputComparison.Unlike unlike ->
                switch (unlike.reason()) {
                    case NOT_IN_FIRST -> "not in the recorded response";
                    case NOT_IN_SECOND -> "missing";
                    case DATATYPE -> "another datatype";
                    case SHAPE -> "another shape";
                    case SHARED_MEMORY -> "in shared memory";
                };
        };
    }

    synchronized void ended(long afterNanos) {
        nanos = afterNanos;
    }

    /** Whether no request failed that did not fail when it was recorded, and no response differs. */
    public synchronized boolean good() {
        return failed == failedAgain && different == 0;
    }

    public synchronized boolean incomplete() {
        return badLines > 0;
    }

    /** Bad lines and failures, each with file and line, and whether the file grew. */
    public synchronized List<String> problems() {
        return List.copyOf(problems);
    }

    /** The report for people. */
    public synchronized List<String> text() {
        List<String> lines = new ArrayList<>();
        long sent = answered + failed;
        lines.add(String.format(
                Locale.ROOT,
                "sent %d: %d answered, %d failed (%d as recorded); %d skipped, %d bad lines; %.1f requests/s",
                sent,
                answered,
                failed,
                failedAgain,
                skipped,
                badLines,
                perSecond()));
        if (sent > 0) {
            lines.add(InferReport.latencies(document()));
        }
        if (settings.compare()) {
            lines.add("compared " + (equal + different) + ": " + equal + " equal, " + different + " different");
            outputs.forEach((name, output) -> {
                if (output.different > 0) {
                    lines.add("output '" + name + "': " + output.different + " of " + output.compared
                            + " differ; worst: " + output.worst);
                }
            });
        }
        return lines;
    }

    private double perSecond() {
        return nanos == 0 ? 0 : (answered + failed) * InferReport.NANOS / nanos;
    }

    /** The report for programs. */
    public synchronized ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("sent", answered + failed)
                .put("answered", answered)
                .put("failed", failed)
                .put("failed_as_recorded", failedAgain)
                .put("skipped", skipped)
                .put("bad_lines", badLines)
                .put("seconds", nanos / InferReport.NANOS)
                .put("requests_per_second", perSecond());
        document.putObject("latency_ms")
                .put("p50", percentile(0.5) / 1e6)
                .put("p90", percentile(0.9) / 1e6)
                .put("p99", percentile(0.99) / 1e6)
                .put("max", slowestNanos / 1e6);
        if (settings.compare()) {
            document.put("equal", equal).put("different", different);
            ArrayNode all = document.putArray("outputs");
            outputs.forEach((name, output) -> all.add(difference(name, output)));
        }
        ArrayNode listed = document.putArray("problems");
        problems.forEach(listed::add);
        return document;
    }

    private static ObjectNode difference(String name, OutputDifferences output) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("name", name)
                .put("compared", output.compared)
                .put("different", output.different)
                .put("worst", output.worst);
    }
}
