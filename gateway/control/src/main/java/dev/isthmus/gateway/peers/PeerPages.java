package dev.isthmus.gateway.peers;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.settings.PeersConfig;
import java.time.InstantSource;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Supplier;

/** What this gateway says of itself to others, and what all of them say. */
public final class PeerPages implements AutoCloseable {
    private final PeersConfig config;
    private final PeerPolls polls;

    /**
     * Begins to resolve the names of the others.
     *
     * @param own what this gateway says of itself
     */
    public PeerPages(PeersConfig config, Discovery discovery, Supplier<PeerSummary> own) {
        this.config = config;
        this.polls = new PeerPolls(config, discovery, own, InstantSource.system());
    }

    /** Adds what others ask this gateway for, whether it has peers or not. */
    public static void addOwn(AdminRoutes routes, Supplier<PeerSummary> own) {
        routes.route("GET", PeerClient.PATH, request -> {
            AdminQuery.of(request);
            return AdminResponse.json(200, own.get().document());
        });
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/gateways", request -> {
            AdminQuery.of(request);
            return AdminResponse.json(200, new PeerComparison(polls.read(), config.tls()).document());
        });
    }

    /** Begins to ask the others, until the scheduler is shut down. */
    public void start(ScheduledExecutorService scheduler) {
        polls.start(scheduler);
    }

    /** What is wrong with the gateways, as they were last seen. */
    public PeerFindings findings() {
        return new PeerComparison(polls.last(), config.tls()).findings();
    }

    @Override
    public void close() {
        polls.close();
    }
}
