package dev.isthmus.gateway.problems;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.console.FleetReading;
import dev.isthmus.gateway.console.SubjectKey;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProblemSearchTest {
    private static final Instant NOW = Instant.parse("2026-01-10T12:00:00Z");
    private static final String MODEL = "score";

    private final ProcessMetrics metrics = new ProcessMetrics("test", "test");
    private final MeterRegistry registry = metrics.registry();
    private final FleetReading before = FleetReading.of(registry, 0);
    /** Meters do not keep what they read. */
    private final List<LongAdder> counters = new ArrayList<>();

    private final List<ReplicaStatus> servers = new ArrayList<>();
    private final Map<SubjectKey, Set<ModelRef>> placed = new HashMap<>();
    private final Map<String, Boolean> models = new LinkedHashMap<>();
    private final Set<String> excluded = new TreeSet<>();
    private final Map<String, List<String>> drift = new LinkedHashMap<>();
    private final Map<String, List<String>> services = new LinkedHashMap<>();
    private final List<RampReport> ramps = new ArrayList<>();
    private ModelConfig model = ModelConfig.of("u");
    private UpstreamConfig upstream = UpstreamConfig.DEFAULT;
    private @Nullable LastReload reload;
    private @Nullable String obstacle;

    @AfterEach
    void close() {
        metrics.close();
    }

    private void server(String upstream, String label, String reason, boolean ejected) {
        servers.add(new ReplicaStatus(
                upstream, label, new FakeUpstream(), true, reason.isEmpty(), reason, Map.of(), ejected, false));
    }

    private void ready(String label) {
        server("u", label, "", false);
    }

    private void calls(String code, int count) {
        Timer timer = Timer.builder("isthmus.requests")
                .tags("protocol", "rest", "operation", "infer", "model", MODEL, "code", code)
                .register(registry);
        for (int i = 0; i < count; i++) {
            timer.record(Duration.ofMillis(2));
        }
    }

    private void attempts(String server, String outcome, long count) {
        attempts(server, outcome, count, 1);
    }

    private void attempts(String server, String outcome, long count, double millis) {
        LongAdder attempts = new LongAdder();
        attempts.add(count);
        counters.add(attempts);
        FunctionTimer.builder(
                        "isthmus.endpoint.requests",
                        attempts,
                        LongAdder::sum,
                        all -> all.sum() * millis,
                        TimeUnit.MILLISECONDS)
                .tags("upstream", "u", "endpoint", server, "outcome", outcome)
                .register(registry);
    }

    private void count(String meter, double count, String... tags) {
        Counter.builder(meter).tags(tags).register(registry).increment(count);
    }

    private void gauge(String meter, double value, String... tags) {
        Gauge.builder(meter, () -> value).tags(tags).register(registry);
    }

    private List<GatewayProblem> problems() {
        GatewayConfig config = TestConfigs.with(
                GatewayConfig.embedded(),
                Map.of("models", Map.of(MODEL, model), "defaultUpstream", "u", "upstreams", Map.of("u", upstream)));
        GatewaySnapshot snapshot = new GatewaySnapshot(
                config, obstacle, servers, models, drift, ramps, reload, services, excluded, PeerFindings.NONE);
        return new ProblemSearch(snapshot, placed, before, FleetReading.of(registry, 0), NOW).problems();
    }

    private GatewayProblem only(ProblemKind kind) {
        List<GatewayProblem> found = problems();
        assertThat(found).extracting(GatewayProblem::kind).containsExactly(kind);
        return found.getFirst();
    }

    @Test
    void serverThatWaitsForItsFirstCheck_isNoProblem() {
        servers.add(new ReplicaStatus(
                "u", "a:1", new FakeUpstream(), false, false, "is not checked yet", Map.of(), false, false));
        assertThat(problems()).isEmpty();
        server("u", "a:2", "is not reachable", false);
        only(ProblemKind.UPSTREAM_DOWN);
    }

    @Test
    void drainedServer_isOutOfService_andNoFailure() {
        ready("a:1");
        servers.add(new ReplicaStatus(
                "u", "b:1", new FakeUpstream(), true, false, "drained by alice at noon", Map.of(), false, true));
        GatewayProblem problem = only(ProblemKind.SERVER_DRAINED);
        assertThat(problem.severity()).isEqualTo(ProblemSeverity.WARNING);
        assertThat(problem.text()).isEqualTo("Server b:1 of upstream 'u' is out of service.");
        assertThat(problem.cause()).startsWith("Drained by alice at noon. It gets no new calls;");
        servers.removeFirst();
        assertThat(only(ProblemKind.UPSTREAM_DOWN).nextStep()).contains("isthmus servers enable");
    }

    @Test
    void serverThatIsNotRecognized_isNamed() {
        ServerCapabilities capabilities = ServerCapabilities.unknown();
        servers(capabilities);
        assertThat(problems()).isEmpty();
        capabilities.learn(new ServerMetadata("mine", "1", List.of()));
        capabilities.learn(new OipException(ErrorCode.NOT_FOUND, "no"));
        assertThat(only(ProblemKind.DIALECT_UNKNOWN).nextStep()).contains("upstreams.u.dialect");
    }

    @Test
    void serversThatContradictTheConfiguration_areNamedOnce() {
        var capabilities = new ServerCapabilities(ServerDialect.KSERVE, BinaryTensorData.AUTO, false);
        servers(capabilities);
        assertThat(problems()).isEmpty();
        capabilities.learn(new ServerMetadata("OpenVINO Model Server", "2026.3.0", List.of()));
        GatewayProblem problem = only(ProblemKind.DIALECT_CONTRADICTED);
        assertThat(problem.severity()).isEqualTo(ProblemSeverity.WARNING);
        assertThat(problem.text())
                .isEqualTo("Upstream 'u': its servers are called as kserve: dialect in the configuration,"
                        + " but its name 'OpenVINO Model Server' says ovms.");
        assertThat(problem.nextStep()).contains("upstreams.u.dialect");
    }

    /** Two servers of the upstream, which are ready. */
    private void servers(ServerCapabilities capabilities) {
        for (String address : List.of("a:1", "b:1")) {
            Upstream server = new DescribedServer(capabilities);
            servers.add(new ReplicaStatus("u", address, server, true, true, "", Map.of(), false, false));
        }
    }

    private record DescribedServer(ServerCapabilities capabilities) implements Upstream {
        @Override
        public String name() {
            return "u";
        }

        @Override
        public ServerFeatures peer() {
            return capabilities.peer(Wire.REST);
        }

        @Override
        public Subscription send(Call call, UpstreamRequest request, Reply reply) {
            throw new AssertionError("nothing is sent");
        }

        @Override
        public void close() {}
    }

    @Test
    void gatewayThatServes_hasNoProblem() {
        ready("a:1");
        models.put(MODEL, true);
        calls("OK", 1000);
        calls("INVALID_ARGUMENT", 50);
        attempts("a:1", "answered", 1050);
        gauge("isthmus.shared.up", 1);
        gauge("isthmus.upstream.breaker.state", 0, "upstream", "u");
        assertThat(problems()).isEmpty();
    }

    @Test
    void gatewayThatIsNotReady_saysWhy() {
        obstacle = "it is being shut down";
        assertThat(only(ProblemKind.GATEWAY_NOT_READY).text())
                .isEqualTo("The gateway is not ready: it is being shut down.");
    }

    @Test
    void upstreamWithoutAReadyServer_namesServersReasonsAndModels() {
        server("u", "a:1", "upstream 'u' did not respond within 1 s", false);
        server("u", "b:1", "", true);
        models.put(MODEL, false);
        GatewayProblem problem = only(ProblemKind.UPSTREAM_DOWN);
        assertThat(problem.severity()).isEqualTo(ProblemSeverity.CRITICAL);
        assertThat(problem.text()).isEqualTo("None of the 2 servers of upstream 'u' is ready.");
        assertThat(problem.cause())
                .isEqualTo("a:1: it did not respond within 1 s; b:1: it is left out for a while (ejected) because"
                        + " calls to it failed. Models that only it serves: 'score'.");
    }

    @Test
    void onlyServerThatIsNotReady_isNamed() {
        server("u", "a:1", "upstream 'u' is not reachable", false);
        GatewayProblem problem = only(ProblemKind.UPSTREAM_DOWN);
        assertThat(problem.subject()).containsEntry("server", "a:1");
        assertThat(problem.text()).contains("Server a:1, the only one of upstream 'u'");
    }

    @Test
    void serverThatIsNotReadyBesideOthers_isAWarning() {
        server("u", "a:1", "upstream 'u' is not reachable", false);
        ready("b:1");
        GatewayProblem problem = only(ProblemKind.SERVER_NOT_READY);
        assertThat(problem.severity()).isEqualTo(ProblemSeverity.WARNING);
        assertThat(problem.cause()).isEqualTo("It is not reachable. Its calls go to 1 other server.");
        assertThat(problem.page()).isEqualTo("servers?search=u+a%3A1");
    }

    @Test
    void ejectedServerBesideOthers_isAProblem() {
        server("u", "a:1", "", true);
        ready("b:1");
        assertThat(only(ProblemKind.SERVER_NOT_READY).text()).endsWith("is ejected.");
    }

    @Test
    void modelWithErrorsOfOneReplica_namesTheServer() {
        ready("a:1");
        ready("b:1");
        calls("OK", 60);
        calls("INTERNAL", 40);
        attempts("a:1", "error", 40);
        attempts("b:1", "answered", 60);
        List<GatewayProblem> found = problems();
        assertThat(found)
                .extracting(GatewayProblem::kind)
                .containsExactly(ProblemKind.MODEL_FAILING, ProblemKind.SERVER_FAILING);
        assertThat(found.getFirst().share()).isEqualTo(0.4);
        assertThat(found.getFirst().cause())
                .isEqualTo("Server a:1 of upstream 'u' answers with 5xx: 100 % of 40 attempts; 1 of 2 servers."
                        + " Most frequent error: INTERNAL (500).");
        assertThat(found.getLast().text()).isEqualTo("Server a:1 of upstream 'u' fails 100 % of its attempts.");
        assertThat(found.getLast().cause()).isEqualTo("It answers with 5xx. The other server fails 0 %.");
    }

    @Test
    void serverThatIsSlowerThanTheOthers_isAProblem() {
        ready("a:1");
        ready("b:1");
        attempts("a:1", "answered", 100, 4);
        attempts("b:1", "answered", 6, 240);
        GatewayProblem problem = only(ProblemKind.SERVER_SLOW);
        assertThat(problem.subject()).containsEntry("server", "b:1");
        assertThat(problem.text()).isEqualTo("Server b:1 of upstream 'u' takes 60 times as long as the others.");
        assertThat(problem.cause())
                .isEqualTo("It responds after 240 ms in the mean of 6 calls, the others after 4.0 ms.");
    }

    @Test
    void serverThatIsALittleSlower_isNoProblem() {
        ready("a:1");
        ready("b:1");
        attempts("a:1", "answered", 100, 1);
        attempts("b:1", "answered", 100, 9);
        assertThat(problems()).isEmpty();
    }

    private ReplicaStatus with(String label, boolean ready) {
        return new ReplicaStatus(
                "u", label, new FakeUpstream(), true, true, "", Map.of(ModelRef.of(MODEL), ready), false, false);
    }

    @Test
    void modelThatOneServerHasNoMore_isAProblem() {
        servers.add(with("a:1", true));
        servers.add(with("b:1", false));
        assertThat(problems()).isEmpty();
        placed.put(new SubjectKey("u", "b:1"), Set.of(ModelRef.of(MODEL)));
        GatewayProblem problem = only(ProblemKind.MODEL_GONE);
        assertThat(problem.text()).isEqualTo("Model 'score' is not ready any more on server b:1 of upstream 'u'.");
        assertThat(problem.cause()).endsWith("Calls go to 1 other server that has it.");
    }

    @Test
    void mistakesOfClients_nameTheCaller() {
        ready("a:1");
        calls("OK", 60);
        calls("INVALID_ARGUMENT", 40);
        count("isthmus.principal.requests", 60, "principal", "good", "result", "ok");
        count("isthmus.principal.requests", 40, "principal", "batch", "result", "error");
        GatewayProblem problem = only(ProblemKind.CLIENT_MISTAKES);
        assertThat(problem.share()).isEqualTo(0.4);
        assertThat(problem.cause()).endsWith("Failed calls of callers: 'batch' (40 calls).");
    }

    @Test
    void retryStorm_isAProblem() {
        ready("a:1");
        attempts("a:1", "answered", 100);
        count("isthmus.upstream.retries", 19, "upstream", "u", "reason", "lost");
        assertThat(problems()).isEmpty();
        count("isthmus.upstream.retries", 21, "upstream", "u", "reason", "unavailable");
        GatewayProblem problem = only(ProblemKind.RETRIES);
        assertThat(problem.text()).isEqualTo("40 % of the attempts at servers of upstream 'u' are retries.");
        assertThat(problem.cause()).startsWith("40 attempts in the last minute were retries: lost 19, unavailable 21.");
    }

    @Test
    void cacheWithFewerHitsThanBefore_isAProblem() {
        count("isthmus.cache.requests", 800, "model", MODEL, "result", "hit");
        count("isthmus.cache.requests", 200, "model", MODEL, "result", "miss");
        FleetReading earlier = FleetReading.of(registry, 0);
        count("isthmus.cache.requests", 10, "model", MODEL, "result", "hit");
        count("isthmus.cache.requests", 90, "model", MODEL, "result", "miss");
        GatewaySnapshot snapshot = new GatewaySnapshot(
                GatewayConfig.embedded(),
                null,
                servers,
                models,
                drift,
                ramps,
                null,
                Map.of(),
                Set.of(),
                PeerFindings.NONE);
        assertThat(new ProblemSearch(snapshot, placed, earlier, FleetReading.of(registry, 0), NOW).problems())
                .singleElement()
                .satisfies(problem -> {
                    assertThat(problem.kind()).isEqualTo(ProblemKind.CACHE_MISSES);
                    assertThat(problem.text())
                            .isEqualTo(
                                    "The cache of model 'score' answers 10 % of its requests; before it answered 80 %.");
                });
    }

    @Test
    void gatewayWhoseEventLoopsAreLate_isBusy_andTheQueueSaysSo() {
        Timer delay = Timer.builder("isthmus.event.loop.delay").register(registry);
        for (int i = 0; i < 100; i++) {
            delay.record(Duration.ofMillis(45));
        }
        assertThat(only(ProblemKind.GATEWAY_BUSY).text())
                .isEqualTo("The gateway is busy: its event loops run 45 ms late in the mean.");
        count("isthmus.upstream.rejected", 5, "upstream", "u", "cause", "queue_full");
        count("isthmus.principal.requests", 60, "principal", "batch", "result", "ok");
        assertThat(problems())
                .filteredOn(each -> each.kind() == ProblemKind.LIMIT_REACHED)
                .singleElement()
                .satisfies(problem -> assertThat(problem.cause())
                        .endsWith("Most calls come from 'batch' (60 calls). The gateway itself is busy, which"
                                + " makes calls longer."));
    }

    @Test
    void modelThatTimesOut_withoutALimitOfAttempts_hasAHint() {
        ready("a:1");
        calls("DEADLINE_EXCEEDED", 40);
        String hint =
                "If a server hangs: with 'try_timeout' in upstream 'u' it does not take the whole time of a call.";
        assertThat(only(ProblemKind.MODEL_FAILING).nextStep()).endsWith(hint);
        upstream = TestConfigs.with(upstream, Map.of("tryTimeout", Duration.ofSeconds(1)));
        assertThat(only(ProblemKind.MODEL_FAILING).nextStep()).doesNotContain("try_timeout");
    }

    @Test
    void serverWithoutValidResponses_isAProblem() {
        ready("a:1");
        attempts("a:1", "failed", 5);
        attempts("a:1", "cancelled", 500);
        attempts("a:1", "answered", 95);
        GatewayProblem problem = only(ProblemKind.SERVER_FAILING);
        assertThat(problem.severity()).isEqualTo(ProblemSeverity.WARNING);
        assertThat(problem.share()).isEqualTo(0.05);
        assertThat(problem.cause()).startsWith("It gives no valid response");
    }

    @Test
    void singleFailures_areNoProblem() {
        ready("a:1");
        calls("OK", 10);
        calls("INTERNAL", 1);
        attempts("a:1", "error", 1);
        attempts("a:1", "answered", 10);
        assertThat(problems()).isEmpty();
    }

    @Test
    void failuresBeforeTheEarlierReading_areNoProblem() {
        ready("a:1");
        calls("INTERNAL", 100);
        attempts("a:1", "error", 100);
        FleetReading after = FleetReading.of(registry, 0);
        GatewaySnapshot snapshot = new GatewaySnapshot(
                GatewayConfig.embedded(),
                null,
                servers,
                models,
                drift,
                ramps,
                null,
                Map.of(),
                Set.of(),
                PeerFindings.NONE);
        assertThat(new ProblemSearch(snapshot, placed, after, FleetReading.of(registry, 0), NOW).problems())
                .isEmpty();
    }

    @Test
    void localModelThatCrashedItsProcess_isAProblem_evenIfNoRouteNamesIt() {
        ready("a:1");
        models.put(MODEL, false);
        excluded.add(MODEL);
        assertThat(only(ProblemKind.MODEL_EXCLUDED).text())
                .isEqualTo("Local model '" + MODEL
                        + "' is not loaded any more: it ran at three crashes of the process of" + " the local models.");
    }

    @Test
    void runsOfLocalModels_thatEnd_areNoProblem() {
        ready("a:1");
        gauge("isthmus.local.threads.stuck", 0);
        assertThat(problems()).isEmpty();
    }

    @Test
    void runsOfLocalModelsThatDoNotEnd_areAProblem() {
        ready("a:1");
        gauge("isthmus.local.threads.stuck", 1);
        assertThat(only(ProblemKind.RUNS_STUCK).text())
                .isEqualTo("1 run of local models did not end, although the time was over.");
    }

    @Test
    void modelThatIsNotReadyOnReadyServers_isAProblem() {
        ready("a:1");
        models.put(MODEL, false);
        assertThat(only(ProblemKind.MODEL_NOT_READY).subject()).containsEntry("model", MODEL);
    }

    @Test
    void rampThatWasRolledBack_hasReasonTimeAndCommand() {
        Instant changed = NOW.minusSeconds(90);
        ramps.add(ramp(RampState.ROLLED_BACK, "9 % of its calls failed, the limit is 5 %", "", changed));
        GatewayProblem problem = only(ProblemKind.RAMP_ROLLED_BACK);
        assertThat(problem.since()).isEqualTo(changed);
        assertThat(problem.cause()).isEqualTo("Reason: 9 % of its calls failed, the limit is 5 %.");
        assertThat(problem.command()).isEqualTo("isthmus ramps --model 'it'\\''s' --do restart");
    }

    private static RampReport ramp(RampState state, String reason, String held, Instant changed) {
        return new RampReport(
                "it's",
                "next",
                state,
                0,
                0,
                List.of(0.1),
                0,
                Duration.ofMinutes(1),
                0,
                0,
                0,
                JsonNodeFactory.instance.objectNode(),
                reason,
                held,
                changed);
    }

    @Test
    void rampWithoutFigures_isHeld() {
        ramps.add(ramp(RampState.RUNNING, "", "max_difference needs a comparison", NOW));
        GatewayProblem problem = only(ProblemKind.RAMP_HELD);
        assertThat(problem.text()).contains("held at step 1").contains("target 'next'");
        assertThat(problem.cause()).isEqualTo("The guard waits: max_difference needs a comparison.");
    }

    @Test
    void callerOverItsRate_isNamedWithItsLimit() {
        model = TestConfigs.with(
                model,
                Map.of(
                        "rates",
                        List.of(TestConfigs.with(
                                DefaultValues.of(ModelConfig.Rate.class),
                                Map.of("principal", true, "requestsPerSecond", 5)))));
        calls("OK", 50);
        calls("RESOURCE_EXHAUSTED", 150);
        count("isthmus.rate.limited", 150, "model", MODEL, "limit", "requests", "header", "principal");
        count("isthmus.principal.requests", 150, "principal", "batch", "result", "error");
        count("isthmus.principal.requests.limited", 150, "principal", "batch");
        count("isthmus.principal.requests", 900, "principal", "other", "result", "error");
        count("isthmus.principal.requests.limited", 0, "principal", "other");
        count("isthmus.principal.requests", 10, "principal", "batch", "result", "ok");
        count("isthmus.principal.requests", 40, "principal", "web", "result", "ok");
        GatewayProblem problem = only(ProblemKind.LIMIT_REACHED);
        assertThat(problem.subject()).containsEntry("caller", "batch");
        assertThat(problem.share()).isEqualTo(0.75);
        assertThat(problem.text()).isEqualTo("Caller 'batch' is over the rate limit of model 'score'.");
        assertThat(problem.cause())
                .isEqualTo(
                        "The limit is 5 requests per second for each caller. It refused 150 calls in the last minute."
                                + " Refused calls of callers: 'batch' (150 of 160 calls).");
    }

    @Test
    void limitsOfGatewayAndUpstream_areCritical() {
        count("isthmus.requests.failed", 3, "cause", "gateway_limit");
        count("isthmus.requests.failed", 3, "cause", "not_found");
        count("isthmus.memory.refused", 3);
        count("isthmus.upstream.rejected", 3, "upstream", "u", "cause", "bulkhead");
        count("isthmus.upstream.rejected", 3, "upstream", "u", "cause", "adaptive_limit");
        count("isthmus.upstream.rejected", 2, "upstream", "u", "cause", "queue_full");
        count("isthmus.upstream.rejected", 1, "upstream", "u", "cause", "queue_timeout");
        assertThat(problems())
                .hasSize(5)
                .allMatch(problem -> problem.severity() == ProblemSeverity.CRITICAL)
                .extracting(problem -> problem.subject().get("limit"))
                .containsExactlyInAnyOrder(
                        "limits.max_requests", "limits.max_buffered", "max_requests", "adaptive_concurrency", "queue");
    }

    @Test
    void upstreamWithANameLikeACause_keepsIt() {
        count("isthmus.upstream.rejected", 2, "upstream", "queue_a", "cause", "queue_full");
        assertThat(only(ProblemKind.LIMIT_REACHED).subject())
                .containsEntry("upstream", "queue_a")
                .containsEntry("limit", "queue");
    }

    @Test
    void concurrentCallsOfACaller_areAProblem() {
        count("isthmus.requests.failed", 2, "cause", "caller_limit");
        count("isthmus.principal.requests", 2, "principal", "batch", "result", "error");
        count("isthmus.principal.requests.limited", 2, "principal", "batch");
        assertThat(only(ProblemKind.LIMIT_REACHED).subject()).containsEntry("caller", "batch");
    }

    @Test
    void openBreaker_isCritical() {
        gauge("isthmus.upstream.breaker.state", 2, "upstream", "u");
        assertThat(only(ProblemKind.BREAKER_OPEN).severity()).isEqualTo(ProblemSeverity.CRITICAL);
        server("u", "a:1", "is not reachable", false);
        only(ProblemKind.UPSTREAM_DOWN);
    }

    @Test
    void certificates_areProblemsFromTwoWeeksBeforeTheirEnd() {
        certificate("old.pem", NOW.minusSeconds(60));
        certificate("soon.pem", NOW.plus(Duration.ofDays(13)));
        certificate("late.pem", NOW.plus(Duration.ofDays(15)));
        List<GatewayProblem> found = problems();
        assertThat(found).extracting(GatewayProblem::kind).containsOnly(ProblemKind.CERTIFICATE);
        assertThat(found)
                .extracting(GatewayProblem::text)
                .containsExactly(
                        "Certificate 'CN=x' in old.pem has expired.",
                        "Certificate 'CN=x' in soon.pem expires in 13 days.");
        assertThat(found.getFirst().since()).isEqualTo(NOW.minusSeconds(60));
    }

    private void certificate(String file, Instant until) {
        gauge("isthmus.tls.certificate.expiry", (double) until.getEpochSecond(), "file", file, "subject", "CN=x");
    }

    @Test
    void sharedStoreThatDoesNotAnswer_isAProblem() {
        gauge("isthmus.shared.up", 0);
        assertThat(only(ProblemKind.SHARED_STATE_LOST).nextStep()).contains("Restore the Redis server");
    }

    @Test
    void sharedStoreThatAnswersAgain_isAProblem_untilItIsUsed() {
        gauge("isthmus.shared.up", 0);
        gauge("isthmus.shared.recovering", 1);
        assertThat(only(ProblemKind.SHARED_STATE_LOST).text()).contains("answers again", "shared.recovery");
    }

    @Test
    void rejectedReload_hasItsLines() {
        reload = new LastReload(NOW, new ReloadResult.Rejected(true, List.of("line 1: no", "line 2: no")));
        assertThat(only(ProblemKind.RELOAD_REJECTED).cause()).isEqualTo("line 1: no; line 2: no.");
        reload = new LastReload(NOW, new ReloadResult.Applied(2, List.of(), List.of()));
        assertThat(problems()).isEmpty();
    }

    @Test
    void drift_isAProblem() {
        drift.put(MODEL, List.of("server a:1 of upstream 'triton': platform x; other replicas: y", "b"));
        GatewayProblem problem = only(ProblemKind.DRIFT);
        assertThat(problem.text()).contains("'score'").contains("2 differences");
        assertThat(problem.cause()).startsWith("server a:1 of upstream 'triton': platform x; other replicas: y; b.");
    }

    @Test
    void inferenceServices_haveTheirTexts() {
        services.put("ml/iris", List.of("InferenceService 'ml/iris' is no model: its runtime 'x' is missing"));
        GatewayProblem one = only(ProblemKind.INFERENCE_SERVICE);
        assertThat(one.subject()).containsExactly(Map.entry("inference_service", "ml/iris"));
        assertThat(one.text()).isEqualTo("InferenceService 'ml/iris' is no model: its runtime 'x' is missing.");
        services.put("ml/iris", List.of("first", "second", "third"));
        assertThat(only(ProblemKind.INFERENCE_SERVICE).cause()).isEqualTo("second; third.");
    }

    @Test
    void problems_areSortedWorstFirst() {
        drift.put(MODEL, List.of("server a:1 of upstream 'triton': platform x; other replicas: y", "b"));
        ready("a:1");
        calls("OK", 90);
        calls("UNAVAILABLE", 10);
        gauge("isthmus.shared.up", 0);
        certificate("old.pem", NOW.minusSeconds(60));
        assertThat(problems())
                .extracting(GatewayProblem::kind)
                .containsExactly(
                        ProblemKind.MODEL_FAILING,
                        ProblemKind.CERTIFICATE,
                        ProblemKind.SHARED_STATE_LOST,
                        ProblemKind.DRIFT);
    }
}
