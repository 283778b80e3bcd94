package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.console.FleetReading;
import dev.isthmus.gateway.console.FleetReading.MeterKey;
import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import dev.isthmus.gateway.problems.ProblemReport.GatewaySnapshot;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;

/** What is wrong whether there are calls or not: the gateway and its peers, ramps, certificates, the shared store, drift. */
record StateProblems(ProblemSearch search) {
    /** How long before its end a certificate is a problem; the alert IsthmusCertificateExpires has the same. */
    private static final Duration SOON = Duration.ofDays(14);

    void addTo(List<GatewayProblem> found) {
        GatewaySnapshot gateway = search.gateway();
        if (gateway.obstacle() != null) {
            found.add(notReady(gateway.obstacle()));
        }
        for (RampReport ramp : gateway.ramps()) {
            if (ramp.state() == RampState.ROLLED_BACK) {
                found.add(rolledBack(ramp));
            } else if (!ramp.held().isEmpty()) {
                found.add(held(ramp));
            }
        }
        search.now().keys(FleetReading.CERTIFICATE).forEach(certificate -> {
            Instant until = Instant.ofEpochSecond((long) search.value(certificate));
            if (until.isBefore(search.time().plus(SOON))) {
                found.add(certificate(certificate, until));
            }
        });
        if (search.value(FleetReading.SHARED_UP) == 0) {
            found.add(sharedState(search.value(FleetReading.SHARED_RECOVERING) == 1));
        }
        if (search.value(FleetReading.STUCK_RUNS) > 0) {
            found.add(stuck((long) search.value(FleetReading.STUCK_RUNS)));
        }
        LastReload reload = gateway.lastReload();
        if (reload != null && reload.result() instanceof ReloadResult.Rejected rejected) {
            found.add(rejected(reload.time(), rejected));
        }
        gateway.inferenceServices().forEach((service, texts) -> found.add(inferenceService(service, texts)));
        gateway.drift().forEach((model, differences) -> found.add(drift(model, differences)));
        PeerFindings peers = gateway.peers();
        peers.unreachable().forEach((peer, why) -> found.add(unreachable(peer, why)));
        if (!peers.otherConfiguration().isEmpty()) {
            found.add(otherConfiguration(peers));
        }
        if (!peers.otherVersion().isEmpty()) {
            found.add(otherVersion(peers));
        }
    }

    private static GatewayProblem notReady(String obstacle) {
        return new GatewayProblem(
                ProblemKind.GATEWAY_NOT_READY,
                Map.of(),
                "The gateway is not ready: " + obstacle + ".",
                "Load balancers are told to send no new calls to it.",
                "Wait until it is ready. If it stays so, read the log of the gateway.",
                ProblemText.page("configuration"));
    }

    private static GatewayProblem held(RampReport ramp) {
        return ramp(
                ProblemKind.RAMP_HELD,
                ramp,
                "The ramp of model '" + ramp.model() + "' is held at step " + (ramp.step() + 1) + ": its guard has too"
                        + " few figures of target '" + ramp.arm() + "'.",
                "The guard waits: " + ramp.held() + ".",
                "See that the figures come, or remove this limit of the ramp from the configuration.");
    }

    private static GatewayProblem rolledBack(RampReport ramp) {
        return ramp(
                        ProblemKind.RAMP_ROLLED_BACK,
                        ramp,
                        "The ramp of model '" + ramp.model() + "' was rolled back: target '" + ramp.arm()
                                + "' gets no calls.",
                        "Reason: " + ramp.reason() + ".",
                        "Repair target '" + ramp.arm() + "', then restart the ramp on the page Canary.")
                .since(ramp.changed())
                .command("isthmus ramps --model " + ProblemText.argument(ramp.model()) + " --do restart");
    }

    private static GatewayProblem ramp(ProblemKind kind, RampReport ramp, String text, String cause, String nextStep) {
        return new GatewayProblem(
                kind,
                GatewayProblem.subject("model", ramp.model(), "target", ramp.arm()),
                text,
                cause,
                nextStep,
                ProblemText.page("canary", "search", ramp.model()));
    }

    private GatewayProblem certificate(MeterKey certificate, Instant until) {
        boolean expired = until.isBefore(search.time());
        return new GatewayProblem(
                        ProblemKind.CERTIFICATE,
                        GatewayProblem.subject("file", certificate.subject(), "certificate", certificate.unit()),
                        "Certificate '" + certificate.unit() + "' in " + certificate.subject()
                                + (expired ? " has expired." : " expires " + in(until) + "."),
                        (expired ? "It was valid until " : "It is valid until ") + until.truncatedTo(ChronoUnit.SECONDS)
                                + ". Clients and servers refuse connections with an expired certificate.",
                        "Replace the file. The gateway reads it again by itself, without a restart.",
                        ProblemText.page("configuration"))
                .critical(expired)
                .since(expired ? until : null)
                .command("openssl x509 -noout -subject -dates -in " + ProblemText.argument(certificate.subject()));
    }

    private String in(Instant until) {
        long hours = Duration.between(search.time(), until).toHours();
        return "in " + (hours >= 48 ? ProblemText.plural(hours / 24, "day") : ProblemText.plural(hours, "hour"));
    }

    private static GatewayProblem sharedState(boolean recovering) {
        return new GatewayProblem(
                ProblemKind.SHARED_STATE_LOST,
                Map.of(),
                "The Redis server for shared limits and ramps "
                        + (recovering
                                ? "answers again, but not yet for as long as shared.recovery says."
                                : "does not answer."),
                "Until it has answered in time for a while, this gateway counts limits as shared.on_failure says, and"
                        + " follows no change of ramps by other gateways.",
                recovering
                        ? "Wait. If the problem comes back, find out why the Redis server is lost:"
                                + " isthmus_shared_lost_total counts how often."
                        : "Restore the Redis server. The gateway connects again by itself.",
                ProblemText.page("configuration"));
    }

    private static GatewayProblem stuck(long runs) {
        return new GatewayProblem(
                ProblemKind.RUNS_STUCK,
                Map.of(),
                ProblemText.plural(runs, "run") + " of local models did not end, although the time was over.",
                "Each keeps a thread of the local backend until it ends or the gateway does. Other models have threads of"
                        + " their own.",
                "Find the model by its calls with DEADLINE_EXCEEDED and repair it, then restart the gateway.",
                ProblemText.page("live", "outcome", "failed"));
    }

    private static GatewayProblem rejected(Instant time, ReloadResult.Rejected rejected) {
        return new GatewayProblem(
                        ProblemKind.RELOAD_REJECTED,
                        Map.of(),
                        "The last change of the configuration was rejected; the one before stays in effect.",
                        ProblemText.first(rejected.problems()) + ".",
                        "Correct the file. It is read again when it changes.",
                        ProblemText.page("configuration"))
                .since(time);
    }

    private static GatewayProblem inferenceService(String service, List<String> texts) {
        return new GatewayProblem(
                ProblemKind.INFERENCE_SERVICE,
                Map.of("inference_service", service),
                texts.getFirst() + ".",
                texts.size() == 1
                        ? "The resource and the rest of the cluster or of the configuration do not fit together."
                        : ProblemText.first(texts.subList(1, texts.size())) + ".",
                "Correct the resource or what it refers to. The gateway sees the change by itself.",
                ProblemText.page("models", "search", service.substring(service.indexOf('/') + 1)));
    }

    private static GatewayProblem drift(String model, List<String> differences) {
        return new GatewayProblem(
                ProblemKind.DRIFT,
                Map.of("model", model),
                "The servers of model '" + model + "' describe it differently ("
                        + ProblemText.plural(differences.size(), "difference") + ").",
                ProblemText.first(differences) + ". A request may succeed on one server and fail on another.",
                "Load the same model on all servers of the upstream. The page Models shows all differences.",
                ProblemText.page("models", "search", model));
    }

    private static GatewayProblem unreachable(String gateway, String why) {
        return new GatewayProblem(
                        ProblemKind.GATEWAY_UNREACHABLE,
                        Map.of("gateway", gateway),
                        "Gateway '" + gateway + "' cannot be reached.",
                        "Its admin address: " + why + ". Its calls are missing in the sums of the page Gateways.",
                        "Look whether it runs. If it does, check its admin address, the token and TLS of admin.peers.",
                        ProblemText.page("gateways"))
                .command("isthmus health --admin " + ProblemText.argument(gateway));
    }

    private static GatewayProblem otherConfiguration(PeerFindings peers) {
        return new GatewayProblem(
                ProblemKind.GATEWAYS_DIFFER,
                Map.of("difference", "configuration"),
                count(peers, peers.otherConfiguration()) + " another configuration: "
                        + ProblemText.names(peers.otherConfiguration()) + ".",
                "They differ from most gateways in " + ProblemText.names(peers.sections())
                        + ", so that a call may end differently at each.",
                "Give all gateways the same file. If they have it, look at the last reload on the page Configuration of"
                        + " each.",
                ProblemText.page("gateways"));
    }

    private static GatewayProblem otherVersion(PeerFindings peers) {
        return new GatewayProblem(
                ProblemKind.GATEWAYS_DIFFER,
                Map.of("difference", "version"),
                count(peers, peers.otherVersion()) + " another version: " + ProblemText.names(peers.otherVersion())
                        + ".",
                "Gateways of several versions may read the same configuration differently.",
                "Wait if an update is under way; otherwise update the rest.",
                ProblemText.page("gateways"));
    }

    /** "2 of 5 gateways have". */
    private static String count(PeerFindings peers, List<String> others) {
        return others.size() + " of " + ProblemText.plural(peers.gateways(), "gateway")
                + (others.size() == 1 ? " has" : " have");
    }
}
