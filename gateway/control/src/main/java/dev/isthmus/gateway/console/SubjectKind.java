package dev.isthmus.gateway.console;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What the charts of the page Traffic are about, and the figures that the meters have of it. */
enum SubjectKind {
    /** A route, by its key. */
    MODEL,
    /** A target of a route, which is a version of its model; durations are measured only with a ramp. */
    TARGET,
    /** A server of an upstream: attempts at it. */
    SERVER,
    /** An authenticated caller. */
    CALLER;

    private static final List<String> OF_INFERENCES =
            List.of("rate", "client_errors", "server_errors", "p50", "p95", "p99");
    private static final List<String> OF_ATTEMPTS = List.of("rate", "no_response", "server_errors", "mean");
    private static final List<String> OF_CALLS = List.of("rate", "errors", "limited", "p50", "p95", "p99");

    private final String label = name().toLowerCase(Locale.ROOT);

    /** Its name in addresses and documents. */
    String label() {
        return label;
    }

    /** The names of the figures. */
    List<String> figures() {
        return switch (this) {
            case MODEL, TARGET -> OF_INFERENCES;
            case SERVER -> OF_ATTEMPTS;
            case CALLER -> OF_CALLS;
        };
    }

    /** What was counted of each subject. */
    Map<SubjectKey, CallTotals> totals(FleetReading reading) {
        return switch (this) {
            case MODEL -> named(reading.models());
            case TARGET -> reading.targets();
            case SERVER -> reading.servers();
            case CALLER -> named(reading.callers());
        };
    }

    private static Map<SubjectKey, CallTotals> named(Map<String, CallTotals> all) {
        Map<SubjectKey, CallTotals> named = HashMap.newHashMap(all.size());
        all.forEach((name, totals) -> named.put(new SubjectKey("", name), totals));
        return named;
    }

    /**
     * The figures, in the order of their names. NaN is unknown.
     *
     * @param seconds in which the calls were counted
     */
    double[] figures(CallTotals calls, double seconds) {
        return switch (this) {
            case MODEL, TARGET -> {
                TrafficFigures all = TrafficFigures.of(calls, seconds);
                yield new double[] {all.rate(), all.clientErrors(), all.serverErrors(), all.p50(), all.p95(), all.p99()
                };
            }
            case SERVER ->
                new double[] {
                    TrafficFigures.rate(calls.calls(), seconds),
                    TrafficFigures.rate(calls.failed(), seconds),
                    TrafficFigures.rate(calls.serverErrors(), seconds),
                    calls.waits() == 0 ? Double.NaN : calls.waitSeconds() / calls.waits()
                };
            case CALLER ->
                new double[] {
                    TrafficFigures.rate(calls.calls(), seconds),
                    TrafficFigures.rate(calls.failed(), seconds),
                    TrafficFigures.rate(calls.limited(), seconds),
                    calls.percentile(0.5),
                    calls.percentile(0.95),
                    calls.percentile(0.99)
                };
        };
    }
}
