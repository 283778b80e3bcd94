package dev.isthmus.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.AdminServer;
import dev.isthmus.gateway.admin.OneAtATime;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.cache.ResponseCaches;
import dev.isthmus.gateway.console.ConfigurationPage;
import dev.isthmus.gateway.console.ConsolePages;
import dev.isthmus.gateway.console.ConsolePages.RunningConfiguration;
import dev.isthmus.gateway.console.MeterIndex;
import dev.isthmus.gateway.console.ServerFigures;
import dev.isthmus.gateway.console.TrafficHistory;
import dev.isthmus.gateway.diagnosis.DebugPages;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.DrainedServers;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.peers.ConfigDigest;
import dev.isthmus.gateway.peers.PeerPages;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.peers.PeerSummary;
import dev.isthmus.gateway.peers.PeerSummary.OpenProblems;
import dev.isthmus.gateway.peers.PeerSummary.PeerRamp;
import dev.isthmus.gateway.problems.ProblemReport;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.ConfigSource;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.tryit.TryItPages;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The routes that every gateway adds to the admin listener. */
final class AdminPages {
    private final Gateway gateway;
    private final ProcessMetrics metrics;
    private final Generation.SharedResources resources;
    private final ReloadReporter reloads;
    private final @Nullable ConfigSource source;
    private final TrafficHistory history;
    private final ProblemReport problems;
    private final TryItPages trials;
    private final MeterIndex serverMeters;
    private final ConfigDigest digest = new ConfigDigest();
    private final String instance = UUID.randomUUID().toString();
    private final Instant started = Instant.now();
    private final OneAtATime reloading = new OneAtATime("a reload is under way; repeat the request when it has ended");

    private @Nullable AdminServer server;
    private volatile @Nullable PeerPages peers;

    /** @param source of the configuration; null if it has none */
    AdminPages(
            Gateway gateway,
            ProcessMetrics metrics,
            Generation.SharedResources resources,
            ReloadReporter reloads,
            @Nullable ConfigSource source) {
        this.gateway = gateway;
        this.metrics = metrics;
        this.resources = resources;
        this.reloads = reloads;
        this.source = source;
        this.history = new TrafficHistory(
                metrics.registry(),
                gateway::config,
                () -> resources.traffic().memory().usage().used(),
                System::nanoTime,
                InstantSource.system());
        this.problems = new ProblemReport(history, this::snapshot, InstantSource.system());
        this.serverMeters = ServerFigures.meters(metrics.registry());
        this.trials = new TryItPages(
                new TryItPages.RunningGateway(
                        gateway::config, gateway::catalogue, gateway::addresses, resources.loops()::next),
                resources.telemetry().live());
    }

    /**
     * Opens the admin address, and begins to read what its pages show of the past and of other gateways. As {@link
     * AdminServer#listen}.
     *
     * @param config null for none
     */
    void open(@Nullable AdminConfig config, Transport transport, TlsRegistry tls, AdminRoutes routes)
            throws BindException, InterruptedException {
        if (config == null) {
            return;
        }
        if (config.peers() != null) {
            Discovery names = resources.upstreams().clusterResources().discovery();
            PeerPages pages = new PeerPages(config.peers(), names, this::summary);
            pages.addTo(routes);
            peers = pages;
        }
        server = AdminServer.listen(
                transport,
                resources.loops(),
                config,
                tls,
                routes,
                resources.telemetry().audit());
        if (peers != null) {
            // Only now: its own address may be among theirs.
            peers.start(resources.closer());
        }
        history.start(resources.closer());
        problems.start(resources.closer());
    }

    /** The admin address, with its actual port; empty if there is none. */
    Optional<InetSocketAddress> address() {
        return Optional.ofNullable(server).map(AdminServer::address);
    }

    void close() {
        if (server != null) {
            server.close();
        }
        if (peers != null) {
            peers.close();
        }
    }

    /** What other gateways show of this one. */
    private PeerSummary summary() {
        Generation current = gateway.current();
        String obstacle = gateway.state().obstacle();
        Duration age = Duration.ofNanos(System.nanoTime() - current.createdNanos());
        ProblemReport.ProblemCounts counts = problems.counts();
        return new PeerSummary(
                instance,
                Objects.requireNonNullElse(System.getenv("HOSTNAME"), ""),
                Version.current(),
                started.truncatedTo(ChronoUnit.MILLIS).toString(),
                current.number(),
                Instant.now().minus(age).truncatedTo(ChronoUnit.SECONDS).toString(),
                digest.of(current.config()),
                obstacle == null,
                obstacle == null ? "serving" : obstacle,
                history.traffic(resources.telemetry().calls().inFlight()),
                new OpenProblems(counts.critical(), counts.warnings()),
                history.busiest(PeerSummary.MOST),
                gateway.ramps().reports().stream()
                        .limit(PeerSummary.MOST)
                        .map(PeerRamp::of)
                        .toList());
    }

    void addTo(AdminRoutes routes, DebugPages debug) {
        debug.addTo(routes);
        resources.telemetry().addTo(routes);
        console().addTo(routes);
        problems.addTo(routes);
        trials.addTo(routes);
        PeerPages.addOwn(routes, this::summary);
        new ConfigurationPage(
                        this::running,
                        () -> gateway.discovery().written(),
                        source,
                        reloads::lastApplied,
                        reloads::lastRejected)
                .addTo(routes);
        routes.route("GET", "/metrics", this::metrics)
                .route("GET", "/live", RouteAccess.OPEN, request -> live())
                .route("GET", "/ready", RouteAccess.OPEN, request -> ready())
                .route("GET", "/config", request -> config())
                .route("GET", "/servers", this::servers)
                .route("GET", "/index", request -> json(gateway.catalogue().indexDocument()))
                .route("GET", "/drift", request -> json(gateway.catalogue().driftDocument()))
                .route("GET", "/shadows", request -> json(gateway.shadows().document()))
                .route("GET", "/ramps", request -> json(gateway.ramps().document()))
                .route("GET", "/cache", request -> caches().show())
                .change("POST", "/cache/*", RouteAccess.OPERATE, "cache purge", request -> caches().purge(request))
                .change("POST", "/ramps/*", RouteAccess.OPERATE, "ramp", new RampActions(gateway.ramps())::steer)
                .change("POST", "/servers/*", RouteAccess.OPERATE, "server", this::steerServer)
                .change("POST", "/reload", RouteAccess.OPERATE, "reload", this::reload);
    }

    private AdminResponse steerServer(AdminRequest request) {
        DrainedServers drained = resources.upstreams().clusterResources().drained();
        return new ServerActions(gateway.catalogue().members(), drained).act(request);
    }

    private CacheActions caches() {
        return new CacheActions(resources.traffic().caches(), gateway.current().routing());
    }

    private ConsolePages console() {
        return new ConsolePages(
                Version.current(),
                this::running,
                resources.gateway(),
                resources.traffic().memory(),
                resources.telemetry().calls()::inFlight,
                reloads::last,
                history,
                ConsolePages.featureMeters(metrics.registry()));
    }

    private RunningConfiguration running() {
        Generation current = gateway.current();
        return new RunningConfiguration(
                current.number(), current.createdNanos(), current.config(), current.routing(), current.catalogue());
    }

    private GatewaySnapshot snapshot() {
        PeerPages others = peers;
        Generation current = gateway.current();
        return new GatewaySnapshot(
                current.config(),
                resources.gateway().obstacle(),
                List.copyOf(current.catalogue().members()),
                current.catalogue().readyModels(),
                current.catalogue().driftTexts(),
                gateway.ramps().reports(),
                reloads.last(),
                gateway.discovery().problems(),
                current.excludedModels(),
                others == null ? PeerFindings.NONE : others.findings());
    }

    private AdminResponse servers(AdminRequest request) {
        boolean readyModels = AdminQuery.of(request, "models")
                .oneOf("models", "all", "all", "not_ready")
                .equals("all");
        return json(ServerFigures.addTo(gateway.catalogue().membersDocument(readyModels), serverMeters));
    }

    private AdminResponse metrics(AdminRequest request) {
        String type = ProcessMetrics.contentType(request.header().apply("accept"));
        return AdminResponse.text(type, metrics.scrape(type));
    }

    private static AdminResponse json(JsonNode document) {
        return AdminResponse.json(200, document);
    }

    private AdminResponse live() {
        String failure = gateway.state().failure();
        return failure == null
                ? AdminResponse.json(200, Map.of("live", true))
                : AdminResponse.error(503, "the gateway is not live: " + failure);
    }

    /** Whether this gateway accepts traffic; the state of its upstreams is in {@code /servers}. */
    private AdminResponse ready() {
        String obstacle = gateway.state().obstacle();
        return obstacle == null
                ? AdminResponse.json(200, Map.of("ready", true))
                : AdminResponse.error(503, "the gateway is not ready: " + obstacle);
    }

    private AdminResponse config() {
        Generation current = gateway.current();
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("generation", current.number());
        document.put("loaded_seconds_ago", TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - current.createdNanos()));
        document.put("config", current.config().document());
        return AdminResponse.json(200, document);
    }

    private AdminResponse reload(AdminRequest request) {
        try (OneAtATime _ = reloading.begin()) {
            long before = gateway.current().number();
            ReloadResult result = gateway.reload();
            return reloaded(result).changed(ReloadReporter.audited(before, result));
        }
    }

    /** The document of a reload that changed nothing. */
    private record RejectedReload(String error, List<String> problems) {}

    private static AdminResponse reloaded(ReloadResult result) {
        return switch (result) {
            case ReloadResult.Applied applied -> AdminResponse.json(200, applied);
            case ReloadResult.Rejected rejected ->
                AdminResponse.json(
                        rejected.invalid() ? 422 : 409,
                        new RejectedReload(
                                "the configuration was rejected; the previous one stays in effect",
                                rejected.problems()));
        };
    }

    /** What operators see of the caches, and do to them: {@code /cache/MODEL/purge}. */
    record CacheActions(ResponseCaches caches, RoutingTable routes) {
        private static final String PATH = "/cache/MODEL/purge";
        private static final String PURGE = "/purge";

        AdminResponse show() {
            return AdminResponse.json(200, caches.document());
        }

        AdminResponse purge(AdminRequest request) {
            String path = request.tail();
            if (!path.endsWith(PURGE) || path.length() == PURGE.length()) {
                throw new OipException(ErrorCode.NOT_FOUND, "expected " + PATH);
            }
            String model = path.substring(0, path.length() - PURGE.length());
            long purged = caches.purge(routes.purgedNames(ModelRef.of(model)));
            if (purged == 0 && !caches.has(model)) {
                throw new OipException(ErrorCode.NOT_FOUND, "no cache has responses of a model '" + model + "'");
            }
            return AdminResponse.json(200, Map.of("model", model, "purged", purged))
                    .changed(AuditedChange.done("cache purge", model, purged + " responses", "0 responses"));
        }
    }

    /** What operators do to servers: {@code /servers/ADDRESS/drain} or enable. */
    record ServerActions(Collection<ReplicaStatus> servers, DrainedServers drained) {
        private static final int MAX_REASON = 200;
        private static final String IN_SERVICE = "in service";

        AdminResponse act(AdminRequest request) {
            String path = request.tail();
            int slash = path.lastIndexOf('/');
            String address = path.substring(0, Math.max(0, slash));
            String action = path.substring(slash + 1);
            AdminQuery query = AdminQuery.of(request, "reason", "force");
            boolean forced = query.oneOf("force", "false", "true", "false").equals("true");
            String before = Objects.requireNonNullElse(drained.of(address), IN_SERVICE);
            if (action.equals("drain")) {
                requireServer(address, !forced);
                drained.change(address, words(request.operator(), query.text("reason", "")));
            } else if (!action.equals("enable")) {
                throw new OipException(ErrorCode.NOT_FOUND, "expected /servers/ADDRESS/ followed by drain or enable");
            } else if (before.equals(IN_SERVICE)) {
                throw new OipException(ErrorCode.NOT_FOUND, "no server at '" + address + "' is drained");
            } else {
                drained.change(address, null);
            }
            String after = Objects.requireNonNullElse(drained.of(address), IN_SERVICE);
            return AdminResponse.json(200, Map.of("server", address, "state", after))
                    .changed(AuditedChange.done("server " + action, address, before, after));
        }

        private static String words(String operator, String reason) {
            if (reason.length() > MAX_REASON || reason.chars().anyMatch(Character::isISOControl)) {
                throw AdminQuery.invalid("reason", "one line of at most " + MAX_REASON + " characters", reason);
            }
            return "drained by " + operator + " at " + Instant.now().truncatedTo(ChronoUnit.SECONDS)
                    + (reason.isEmpty() ? "" : ": " + reason);
        }

        /** @param replaced whether another server must be there for its calls at each upstream that it belongs to */
        private void requireServer(String address, boolean replaced) {
            List<String> upstreams = servers.stream()
                    .filter(each -> each.label().equals(address) && !(each.server() instanceof LocalUpstream))
                    .map(ReplicaStatus::upstream)
                    .toList();
            if (upstreams.isEmpty()) {
                throw new OipException(
                        ErrorCode.NOT_FOUND, "no upstream has a server at '" + address + "'; GET /servers lists them");
            }
            for (String upstream : upstreams) {
                if (replaced && servers.stream().noneMatch(other -> replaces(other, upstream, address))) {
                    throw new OipException(
                            ErrorCode.ABORTED,
                            "no other server of upstream '" + upstream + "' is ready: its calls would fail;"
                                    + " force=true (--force) drains it all the same");
                }
            }
        }

        private boolean replaces(ReplicaStatus other, String upstream, String address) {
            return other.upstream().equals(upstream)
                    && !other.label().equals(address)
                    && other.ready()
                    && !other.ejected()
                    && drained.of(other.label()) == null;
        }
    }

    /** What operators do to ramps: {@code /ramps/MODEL/pause}, resume, restart or rollback. */
    record RampActions(Ramps ramps) {

        AdminResponse steer(AdminRequest request) {
            String path = request.tail();
            int slash = path.lastIndexOf('/');
            String model = slash < 0 ? path : path.substring(0, slash);
            String action = path.substring(slash + 1);
            String before = state(model);
            switch (action) {
                case "pause" -> ramps.pause(model);
                case "resume" -> ramps.resume(model);
                case "restart" -> ramps.restart(model);
                case "rollback" -> ramps.rollBack(model);
                default ->
                    throw new OipException(
                            ErrorCode.NOT_FOUND,
                            "expected /ramps/MODEL/ followed by pause, resume, restart or rollback");
            }
            return AdminResponse.json(200, ramps.document())
                    .changed(AuditedChange.done("ramp " + action, model, before, state(model)));
        }

        private String state(String model) {
            return ramps.reports().stream()
                    .filter(each -> each.model().equals(model))
                    .findFirst()
                    .map(RampActions::text)
                    .orElse("");
        }

        private static String text(RampReport ramp) {
            String share = String.format(Locale.ROOT, "%.4g %%", ramp.share() * 100);
            return ramp.state() == RampState.ROLLED_BACK
                    ? ramp.state().label()
                    : ramp.state().label() + " at " + share + " of " + ramp.arm();
        }
    }
}
