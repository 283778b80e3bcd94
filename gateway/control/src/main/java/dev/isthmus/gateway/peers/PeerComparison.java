package dev.isthmus.gateway.peers;

import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.peers.PeerClient.PeerAnswer;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.peers.PeerPages.PeerRound;
import dev.isthmus.gateway.peers.PeerSummary.PeerModel;
import dev.isthmus.gateway.peers.PeerSummary.PeerTraffic;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The gateways of a round beside each other. What most of them have is what is expected; of two that are as frequent, the
 * one that a gateway has loaded or started with last.
 */
final class PeerComparison {
    private final PeerRound round;
    private final boolean tls;
    private final List<ReachedGateway> reached;
    private final Map<String, String> configuration;
    private final String version;

    /** A gateway that has answered. */
    private record ReachedGateway(PeerAnswer answer, PeerSummary summary) {}

    /** @param tls whether consoles are addressed with https */
    PeerComparison(PeerRound round, boolean tls) {
        this.round = round;
        this.tls = tls;
        this.reached = round.answers().stream()
                .filter(answer -> answer.summary() != null)
                .map(answer -> new ReachedGateway(answer, Objects.requireNonNull(answer.summary())))
                .toList();
        this.configuration = usual(PeerSummary::configuration, PeerSummary::loaded, Map.of());
        this.version = usual(PeerSummary::version, PeerSummary::started, "");
    }

    private <T> T usual(Function<PeerSummary, T> value, Function<PeerSummary, String> since, T none) {
        Map<T, List<PeerSummary>> by =
                reached.stream().map(ReachedGateway::summary).collect(Collectors.groupingBy(value));
        Comparator<Map.Entry<T, List<PeerSummary>>> frequency =
                Comparator.comparing(each -> each.getValue().size());
        return by.entrySet().stream()
                .max(frequency.thenComparing(each -> each.getValue().stream()
                        .map(since)
                        .max(Comparator.naturalOrder())
                        .orElse("")))
                .map(Map.Entry::getKey)
                .orElse(none);
    }

    /** In which sections a gateway's configuration differs, in order of their names. */
    private List<String> differences(PeerSummary summary) {
        TreeSet<String> sections = new TreeSet<>(configuration.keySet());
        sections.addAll(summary.configuration().keySet());
        sections.removeIf(section -> Objects.equals(
                configuration.get(section), summary.configuration().get(section)));
        return List.copyOf(sections);
    }

    PeerFindings findings() {
        Map<String, String> unreachable = new LinkedHashMap<>();
        List<String> configurations = new ArrayList<>();
        List<String> versions = new ArrayList<>();
        TreeSet<String> sections = new TreeSet<>();
        for (PeerAnswer answer : round.answers()) {
            PeerSummary summary = answer.summary();
            if (summary == null) {
                unreachable.put(answer.name(), answer.failure());
                continue;
            }
            List<String> differences = differences(summary);
            if (!differences.isEmpty()) {
                configurations.add(answer.name());
                sections.addAll(differences);
            }
            if (!summary.version().equals(version)) {
                versions.add(answer.name());
            }
        }
        return new PeerFindings(round.answers().size(), unreachable, configurations, List.copyOf(sections), versions);
    }

    /** For operators. */
    Map<String, @Nullable Object> document() {
        PeerFindings findings = findings();
        List<Map<String, Object>> ramps = ramps();
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("time", round.answers().isEmpty() ? null : round.time().toString());
        document.put("all", round.answers().size() + round.notAsked());
        document.put("not_asked", round.notAsked());
        document.put("reached", reached.size());
        document.put("other_configuration", findings.otherConfiguration().size());
        document.put("other_version", findings.otherVersion().size());
        document.put(
                "other_ramps",
                ramps.stream()
                        .filter(ramp -> Boolean.TRUE.equals(ramp.get("differs")))
                        .count());
        document.put(
                "traffic",
                reached.stream().map(each -> each.summary().traffic()).reduce(PeerTraffic.NONE, PeerTraffic::plus));
        document.put("gateways", round.answers().stream().map(this::gateway).toList());
        document.put("ramps", ramps);
        document.put("models", models());
        return document;
    }

    private Map<String, Object> gateway(PeerAnswer answer) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("name", answer.name());
        document.put("addresses", answer.addresses());
        document.put("self", answer.self());
        document.put("reached", answer.summary() != null);
        document.put("failure", answer.failure());
        document.put(
                "console",
                answer.addresses().isEmpty()
                        ? ""
                        : (tls ? "https://" : "http://") + answer.addresses().getFirst() + "/");
        if (answer.summary() != null) {
            writeTo(document, answer.summary());
        }
        return document;
    }

    private void writeTo(Map<String, Object> document, PeerSummary summary) {
        document.put("host", summary.host());
        document.put("version", summary.version());
        document.put("other_version", !summary.version().equals(version));
        document.put("started", summary.started());
        document.put("generation", summary.generation());
        document.put("loaded", summary.loaded());
        document.put("configuration", ConfigDigest.digest(new TreeMap<>(summary.configuration())));
        document.put("differs_in", differences(summary));
        document.put("ready", summary.ready());
        document.put("state", summary.state());
        document.putAll(AdminResponse.members(summary.traffic()));
        document.put("problems", summary.problems());
    }

    /** The ramps by model, each with its state at each gateway; those that differ first. */
    private List<Map<String, Object>> ramps() {
        Map<String, List<Map<String, Object>>> byModel = new TreeMap<>();
        for (ReachedGateway gateway : reached) {
            gateway.summary().ramps().forEach(ramp -> {
                Map<String, Object> one = new LinkedHashMap<>();
                one.put("gateway", gateway.answer().name());
                one.putAll(AdminResponse.members(ramp));
                byModel.computeIfAbsent(ramp.model(), none -> new ArrayList<>()).add(one);
            });
        }
        List<Map<String, Object>> ramps = new ArrayList<>();
        byModel.forEach((model, gateways) -> ramps.add(ramp(model, gateways)));
        ramps.sort(Comparator.comparing(ramp -> Boolean.FALSE.equals(ramp.get("differs"))));
        return ramps.stream().limit(PeerSummary.MOST).toList();
    }

    private static Map<String, Object> ramp(String model, List<Map<String, Object>> gateways) {
        long steps = gateways.stream()
                .map(ramp -> List.of(
                        ramp.getOrDefault("target", ""), ramp.getOrDefault("state", ""), ramp.getOrDefault("step", 0)))
                .distinct()
                .count();
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("model", model);
        document.put("differs", steps > 1);
        document.put("gateways", gateways);
        return document;
    }

    /** The models with the most calls at all gateways together. */
    private List<PeerModel> models() {
        Map<String, PeerModel> sums = new HashMap<>();
        for (ReachedGateway gateway : reached) {
            gateway.summary().models().forEach(model -> sums.merge(model.model(), model, PeerModel::plus));
        }
        return sums.values().stream()
                .sorted(Comparator.comparing(PeerModel::calls).reversed().thenComparing(PeerModel::model))
                .limit(PeerSummary.MOST)
                .toList();
    }
}
