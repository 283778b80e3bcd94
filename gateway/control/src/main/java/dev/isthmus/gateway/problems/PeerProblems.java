package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.peers.PeerPages.PeerFindings;
import java.util.List;
import java.util.Map;

/** What is wrong with the other gateways of the deployment. */
record PeerProblems(PeerFindings peers) {
    private static final String PAGE = ProblemText.page("gateways");

    void addTo(List<GatewayProblem> found) {
        peers.unreachable().forEach((gateway, why) -> found.add(unreachable(gateway, why)));
        if (!peers.otherConfiguration().isEmpty()) {
            found.add(otherConfiguration());
        }
        if (!peers.otherVersion().isEmpty()) {
            found.add(otherVersion());
        }
    }

    private static GatewayProblem unreachable(String gateway, String why) {
        return new GatewayProblem(
                        ProblemKind.GATEWAY_UNREACHABLE,
                        Map.of("gateway", gateway),
                        "Gateway '" + gateway + "' cannot be reached.",
                        "Its admin address: " + why + ". Its calls are missing in the sums of the page Gateways.",
                        "Look whether it runs. If it does, check its admin address, the token and TLS of admin.peers.",
                        PAGE)
                .command("isthmus health --admin " + ProblemText.argument(gateway));
    }

    private GatewayProblem otherConfiguration() {
        return new GatewayProblem(
                ProblemKind.GATEWAYS_DIFFER,
                Map.of("difference", "configuration"),
                count(peers.otherConfiguration()) + " another configuration: "
                        + ProblemText.names(peers.otherConfiguration()) + ".",
                "They differ from most gateways in " + ProblemText.names(peers.sections())
                        + ", so that a call may end differently at each.",
                "Give all gateways the same file. If they have it, look at the last reload on the page Configuration of"
                        + " each.",
                PAGE);
    }

    private GatewayProblem otherVersion() {
        return new GatewayProblem(
                ProblemKind.GATEWAYS_DIFFER,
                Map.of("difference", "version"),
                count(peers.otherVersion()) + " another version: " + ProblemText.names(peers.otherVersion()) + ".",
                "Gateways of several versions may read the same configuration differently.",
                "Wait if an update is under way; otherwise update the rest.",
                PAGE);
    }

    /** "2 of 5 gateways have". */
    private String count(List<String> others) {
        return others.size() + " of " + ProblemText.plural(peers.gateways(), "gateway")
                + (others.size() == 1 ? " has" : " have");
    }
}
