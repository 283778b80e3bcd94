package dev.isthmus.gateway.peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import dev.isthmus.gateway.ramp.RampReport;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a gateway says of itself. All texts and numbers may come from elsewhere: they are limited when they are read.
 *
 * @param instance identifies the process
 * @param host its name of the machine; empty if it has none
 * @param started when, in ISO 8601; as {@code loaded}
 * @param generation of the configuration; 1 at the start
 * @param loaded when the configuration was loaded
 * @param configuration digests by section ({@link ConfigDigest})
 * @param state "serving", or why it is not ready
 * @param traffic its calls
 * @param models the models with the most calls
 */
@JsonNaming(SnakeCaseStrategy.class)
public record PeerSummary(
        String instance,
        String host,
        String version,
        String started,
        long generation,
        String loaded,
        Map<String, String> configuration,
        boolean ready,
        String state,
        PeerTraffic traffic,
        OpenProblems problems,
        List<PeerModel> models,
        List<PeerRamp> ramps) {
    /** How many models and ramps a summary has. */
    public static final int MOST = 100;

    /** Sums of 64 gateways are exact in JavaScript. */
    private static final long MOST_CALLS = 1L << 46;

    private static final int MOST_SECTIONS = 64;
    private static final int LONGEST_TEXT = 256;

    public PeerSummary {
        configuration = Map.copyOf(configuration);
        models = List.copyOf(models);
        ramps = List.copyOf(ramps);
    }

    /**
     * The inferences of a gateway.
     *
     * @param activeCalls calls of any kind that have not ended
     * @param calls since the start, as the errors
     * @param rate per second in the last minute
     */
    @JsonNaming(SnakeCaseStrategy.class)
    public record PeerTraffic(long activeCalls, long calls, long clientErrors, long serverErrors, double rate) {
        static final PeerTraffic NONE = new PeerTraffic(0, 0, 0, 0, 0);

        PeerTraffic plus(PeerTraffic other) {
            return new PeerTraffic(
                    activeCalls + other.activeCalls,
                    calls + other.calls,
                    clientErrors + other.clientErrors,
                    serverErrors + other.serverErrors,
                    rate + other.rate);
        }

        private static PeerTraffic of(JsonNode node) {
            double rate = node.path("rate").asDouble();
            return new PeerTraffic(
                    count(node.path("active_calls")),
                    count(node.path("calls")),
                    count(node.path("client_errors")),
                    count(node.path("server_errors")),
                    rate >= 0 && rate < MOST_CALLS ? rate : 0);
        }
    }

    /**
     * How many problems a gateway has.
     *
     * @param warning those that are not critical
     */
    public record OpenProblems(long critical, long warning) {}

    /** The inferences of a model since the start. */
    @JsonNaming(SnakeCaseStrategy.class)
    public record PeerModel(String model, long calls, long clientErrors, long serverErrors) {
        PeerModel plus(PeerModel other) {
            return new PeerModel(
                    model, calls + other.calls, clientErrors + other.clientErrors, serverErrors + other.serverErrors);
        }

        private static PeerModel of(JsonNode node) {
            return new PeerModel(
                    text(node.path("model")),
                    count(node.path("calls")),
                    count(node.path("client_errors")),
                    count(node.path("server_errors")));
        }
    }

    /**
     * The state of a ramp.
     *
     * @param step 1 for the first
     * @param share the target's share, from 0 to 1
     */
    public record PeerRamp(String model, String target, String state, long step, double share) {
        public static PeerRamp of(RampReport ramp) {
            return new PeerRamp(ramp.model(), ramp.arm(), ramp.state().label(), ramp.step() + 1, ramp.share());
        }

        private static PeerRamp of(JsonNode node) {
            double share = node.path("share").asDouble();
            return new PeerRamp(
                    text(node.path("model")),
                    text(node.path("target")),
                    text(node.path("state")),
                    count(node.path("step")),
                    share >= 0 && share <= 1 ? share : 0);
        }
    }

    private static long count(JsonNode node) {
        return Math.clamp(node.asLong(), 0, MOST_CALLS);
    }

    private static String text(JsonNode node) {
        return limited(node.asText());
    }

    private static String limited(String text) {
        return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT) + "…";
    }

    private static <T> List<T> list(JsonNode nodes, Function<JsonNode, T> read) {
        List<T> all = new ArrayList<>();
        for (JsonNode node : nodes) {
            if (all.size() == MOST) {
                break;
            }
            all.add(read.apply(node));
        }
        return all;
    }

    /** Reads the answer of a gateway; null if it is not one of a gateway. */
    static @Nullable PeerSummary of(JsonNode document) {
        JsonNode sections = document.path("configuration");
        if (!document.path("instance").isTextual() || !document.path("version").isTextual() || !sections.isObject()) {
            return null;
        }
        Map<String, String> configuration = new LinkedHashMap<>();
        sections.properties().stream()
                .limit(MOST_SECTIONS)
                .forEach(section -> configuration.put(limited(section.getKey()), text(section.getValue())));
        return new PeerSummary(
                text(document.path("instance")),
                text(document.path("host")),
                text(document.path("version")),
                text(document.path("started")),
                count(document.path("generation")),
                text(document.path("loaded")),
                configuration,
                document.path("ready").asBoolean(),
                text(document.path("state")),
                PeerTraffic.of(document.path("traffic")),
                new OpenProblems(
                        count(document.path("problems").path("critical")),
                        count(document.path("problems").path("warning"))),
                list(document.path("models"), PeerModel::of),
                list(document.path("ramps"), PeerRamp::of));
    }
}
