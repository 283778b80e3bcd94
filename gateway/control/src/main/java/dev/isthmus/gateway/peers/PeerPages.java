package dev.isthmus.gateway.peers;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.peers.PeerClient.PeerAnswer;
import dev.isthmus.gateway.peers.PeerSummary.PeerModel;
import dev.isthmus.gateway.peers.PeerSummary.PeerTraffic;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.PeersConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What this gateway says of itself to others, and what all of them say. The others are asked again and again, slowly, and
 * more often while somebody looks. A round runs on a thread of its own, one at a time. Thread-safe; nothing but {@link
 * #round} blocks.
 */
public final class PeerPages implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerPages.class);
    static final int MOST_GATEWAYS = 64;
    /** A reader begins a round if the last one is older. */
    private static final Duration FRESH = Duration.ofSeconds(5);

    private static final Duration REFRESH = Duration.ofSeconds(30);

    private final PeersConfig config;
    private final Supplier<PeerSummary> own;
    private final InstantSource clock = InstantSource.system();
    private final Registration registration;
    private final AtomicBoolean running = new AtomicBoolean();
    private volatile List<DiscoveredServer> found = List.of();
    private volatile PeerRound last = new PeerRound(Instant.EPOCH, List.of(), 0);

    /**
     * What all gateways have said.
     *
     * @param time when they were asked; the epoch if they were not
     * @param answers this gateway's own is always among them, but before the first round
     * @param notAsked how many more there are than are asked
     */
    record PeerRound(Instant time, List<PeerAnswer> answers, int notAsked) {
        PeerRound {
            answers = List.copyOf(answers);
        }
    }

    /**
     * Begins to resolve the names of the others.
     *
     * @param own what this gateway says of itself
     */
    public PeerPages(PeersConfig config, Discovery discovery, Supplier<PeerSummary> own) {
        this.config = config;
        this.own = own;
        List<ServerAddress> names = config.endpoints().stream()
                .<ServerAddress>map(ServerAddress.HostAddress::new)
                .toList();
        registration = discovery.watch(names, REFRESH, now -> found = List.copyOf(now));
    }

    /** Adds what others ask this gateway for, whether it has peers or not. */
    public static void addOwn(AdminRoutes routes, Supplier<PeerSummary> own) {
        routes.route("GET", PeerClient.PATH, request -> {
            AdminQuery.of(request);
            return AdminResponse.json(200, own.get());
        });
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/gateways", request -> {
            AdminQuery.of(request);
            PeerRound read = last;
            if (read.time().plus(FRESH).isBefore(clock.instant())) {
                begin();
            }
            return AdminResponse.json(200, new PeerComparison(read, config.tls()).document());
        });
    }

    /** Begins to ask the others, until the scheduler is shut down. */
    public void start(ScheduledExecutorService scheduler) {
        scheduler.scheduleWithFixedDelay(this::begin, 0, config.interval().toMillis(), TimeUnit.MILLISECONDS);
    }

    /** What is wrong with the gateways, as they were last seen. */
    public PeerFindings findings() {
        return new PeerComparison(last, config.tls()).findings();
    }

    private void begin() {
        if (!running.getAndSet(true)) {
            Thread.ofVirtual().name("isthmus-peers").start(() -> {
                try {
                    round();
                } catch (RuntimeException fault) {
                    // Must not stop the next round.
                    LOG.atError().setCause(fault).log("internal error: peers cannot be asked; please report it");
                } finally {
                    running.set(false);
                }
            });
        }
    }

    /** Asks all gateways. Blocks, for twice the timeout at most. */
    void round() {
        registration
                .first()
                .copy()
                .completeOnTimeout(null, config.timeout().toMillis(), TimeUnit.MILLISECONDS)
                .join();
        List<DiscoveredServer> all = found;
        List<DiscoveredServer> distinct = distinct(all);
        List<DiscoveredServer> asked = distinct.stream().limit(MOST_GATEWAYS).toList();
        List<PeerAnswer> answers = new ArrayList<>(unresolved(all));
        try (PeerClient client = new PeerClient(config)) {
            answers.addAll(client.ask(asked));
        } catch (IOException e) {
            asked.forEach(each -> answers.add(PeerAnswer.failed(each.address().authority(), FailureReason.of(e))));
        }
        last = new PeerRound(clock.instant(), merged(answers, own.get()), distinct.size() - asked.size());
    }

    /** One of each address: several names may have it. */
    private static List<DiscoveredServer> distinct(List<DiscoveredServer> all) {
        Map<Endpoint, DiscoveredServer> distinct = new LinkedHashMap<>();
        all.forEach(each -> distinct.putIfAbsent(each.address(), each));
        return List.copyOf(distinct.values());
    }

    /** The endpoints that no gateway was found at. */
    private List<PeerAnswer> unresolved(List<DiscoveredServer> all) {
        return config.endpoints().stream()
                .map(Endpoint::authority)
                .distinct()
                .filter(name -> all.stream().noneMatch(each -> each.authority().equals(name)))
                .map(name -> PeerAnswer.failed(name, "the name has no address; check DNS"))
                .toList();
    }

    /** One answer for each gateway: it may have several addresses, and this one may be among them or not. */
    private static List<PeerAnswer> merged(List<PeerAnswer> answers, PeerSummary mine) {
        Map<String, PeerAnswer> reached = new LinkedHashMap<>();
        List<PeerAnswer> merged = new ArrayList<>();
        reached.put(mine.instance(), new PeerAnswer(List.of(), true, mine, ""));
        for (PeerAnswer answer : answers) {
            if (answer.summary() == null) {
                merged.add(answer);
            } else {
                reached.merge(answer.summary().instance(), answer, PeerAnswer::alsoAt);
            }
        }
        merged.addAll(reached.values());
        return merged;
    }

    @Override
    public void close() {
        registration.close();
    }

    /**
     * What is wrong with the gateways of a deployment beside each other.
     *
     * @param gateways how many there are
     * @param unreachable why a gateway cannot be reached, by its address
     * @param otherConfiguration the gateways whose configuration is not that of most
     * @param sections in which their configurations differ
     * @param otherVersion the gateways whose version is not that of most
     */
    public record PeerFindings(
            int gateways,
            Map<String, String> unreachable,
            List<String> otherConfiguration,
            List<String> sections,
            List<String> otherVersion) {
        public static final PeerFindings NONE = new PeerFindings(0, Map.of(), List.of(), List.of(), List.of());

        public PeerFindings {
            unreachable = Map.copyOf(unreachable);
            otherConfiguration = List.copyOf(otherConfiguration);
            sections = List.copyOf(sections);
            otherVersion = List.copyOf(otherVersion);
        }
    }

    /**
     * The gateways of a round beside each other. What most of them have is what is expected; of two that are as frequent, the
     * one that a gateway has loaded or started with last.
     */
    static final class PeerComparison {
        private final PeerRound round;
        private final boolean tls;
        private final List<ReachedGateway> reached;
        private final Map<String, String> configuration;
        private final String version;

        private record ReachedGateway(PeerAnswer answer, PeerSummary summary) {}

        /** A ramp with its state at each gateway, and whether that is not the same everywhere. */
        private record RampAtGateways(String model, boolean differs, List<Map<String, Object>> gateways) {
            static RampAtGateways of(String model, List<Map<String, Object>> gateways) {
                long steps = gateways.stream()
                        .map(ramp -> List.of(
                                ramp.getOrDefault("target", ""),
                                ramp.getOrDefault("state", ""),
                                ramp.getOrDefault("step", 0)))
                        .distinct()
                        .count();
                return new RampAtGateways(model, steps > 1, gateways);
            }
        }

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
            return new PeerFindings(
                    round.answers().size(), unreachable, configurations, List.copyOf(sections), versions);
        }

        /** For operators. */
        Map<String, @Nullable Object> document() {
            PeerFindings findings = findings();
            List<RampAtGateways> ramps = ramps();
            Map<String, @Nullable Object> document = new LinkedHashMap<>();
            document.put("time", round.answers().isEmpty() ? null : round.time().toString());
            document.put("all", round.answers().size() + round.notAsked());
            document.put("not_asked", round.notAsked());
            document.put("reached", reached.size());
            document.put("other_configuration", findings.otherConfiguration().size());
            document.put("other_version", findings.otherVersion().size());
            document.put(
                    "other_ramps",
                    ramps.stream().filter(RampAtGateways::differs).count());
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
                            : (tls ? "https://" : "http://")
                                    + answer.addresses().getFirst() + "/");
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
        private List<RampAtGateways> ramps() {
            Map<String, List<Map<String, Object>>> byModel = new TreeMap<>();
            for (ReachedGateway gateway : reached) {
                gateway.summary().ramps().forEach(ramp -> {
                    Map<String, Object> one = new LinkedHashMap<>();
                    one.put("gateway", gateway.answer().name());
                    one.putAll(AdminResponse.members(ramp));
                    byModel.computeIfAbsent(ramp.model(), none -> new ArrayList<>())
                            .add(one);
                });
            }
            return byModel.entrySet().stream()
                    .map(each -> RampAtGateways.of(each.getKey(), each.getValue()))
                    .sorted(Comparator.comparing(ramp -> !ramp.differs()))
                    .limit(PeerSummary.MOST)
                    .toList();
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
}
