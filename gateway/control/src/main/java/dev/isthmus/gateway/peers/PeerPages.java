package dev.isthmus.gateway.peers;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.peers.PeerClient.PeerAnswer;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.PeersConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
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
        awaitNames();
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

    private void awaitNames() {
        try {
            registration.first().get(config.timeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            LOG.debug("the names of peers are not resolved");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
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
        Map<String, Set<String>> addresses = new LinkedHashMap<>();
        Map<String, PeerSummary> summaries = new LinkedHashMap<>();
        List<PeerAnswer> merged = new ArrayList<>();
        addresses.put(mine.instance(), new LinkedHashSet<>());
        summaries.put(mine.instance(), mine);
        for (PeerAnswer answer : answers) {
            if (answer.summary() == null) {
                merged.add(answer);
            } else {
                String instance = answer.summary().instance();
                addresses
                        .computeIfAbsent(instance, none -> new LinkedHashSet<>())
                        .addAll(answer.addresses());
                summaries.putIfAbsent(instance, answer.summary());
            }
        }
        summaries.forEach((instance, summary) -> merged.add(new PeerAnswer(
                new ArrayList<>(addresses.getOrDefault(instance, Set.of())),
                instance.equals(mine.instance()),
                summary,
                "")));
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
}
