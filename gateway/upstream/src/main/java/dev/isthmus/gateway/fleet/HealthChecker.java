package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.fleet.Replica.ReplicaCounts.CheckResult;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Probes one server periodically for its readiness and that of each model. It requests the metadata first, and again
 * after the server was away: upstreams learn the server's capabilities from them. Runs on one event loop.
 */
final class HealthChecker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HealthChecker.class);

    private final String upstream;
    private final Replica replica;
    private final Checks checks;
    private final ClusterResources resources;
    private final PeriodicProbe probe;
    private final ModelHealthChecker models;
    private final HealthThreshold threshold;
    private long probedAt;
    private boolean failedBefore;

    HealthChecker(
            String upstream,
            Replica replica,
            Checks checks,
            Supplier<Set<ModelRef>> models,
            ClusterResources resources) {
        this.upstream = upstream;
        this.replica = replica;
        this.checks = checks;
        this.resources = resources;
        this.probe = new PeriodicProbe(checks.interval(), resources, started -> probe());
        this.models = new ModelHealthChecker(replica, checks, models, resources, this::call);
        this.threshold = new HealthThreshold(checks);
    }

    void start() {
        probe.start();
    }

    /** Checks the models of this name on the server now, on the loop. */
    CompletableFuture<Void> recheck(String model) {
        return models.recheck(model);
    }

    /** See {@link ModelHealthChecker#suspect}. */
    void suspect(String model) {
        models.suspect(model);
    }

    private Call call() {
        long deadline = resources.nanoTime().getAsLong() + checks.timeout().toNanos();
        return new Call(new Operation.ServerReady(), deadline, Map.of(), resources.loop(), resources.allocator());
    }

    private void probe() {
        if (replica.described()) {
            probeReadiness();
        } else {
            // If the reason of a failure persists, the readiness probe reports it.
            Reply reply =
                    new CheckReply(message -> replica.described(true), this::described, failure -> probeReadiness());
            replica.server().send(call(), new UpstreamRequest.ServerMetadataRequest(), reply);
        }
    }

    /** A server whose metadata do not say what it is may be recognized by what it says of a model that it does not have. */
    private void described() {
        ServerCapabilities capabilities = replica.server().capabilities();
        if (capabilities == null || !capabilities.isUnrecognized()) {
            probeReadiness();
            return;
        }
        Reply reply = new CheckReply(message -> {}, this::probeReadiness, failure -> {
            if (!UpstreamFailures.isUnreachable(failure)) {
                capabilities.learn(failure);
            }
            probeReadiness();
        });
        UpstreamRequest request = new UpstreamRequest.ModelMetadataRequest(ServerCapabilities.UNKNOWN_MODEL);
        replica.server().send(call(), request, reply);
    }

    private void probeReadiness() {
        probedAt = resources.nanoTime().getAsLong();
        Reply reply = new CheckReply(this::record, probe::completed, failure -> {
            record(false, false, failure.message());
            probe.completed();
        });
        replica.server().send(call(), new UpstreamRequest.ServerReadyRequest(), reply);
    }

    private void record(ReplyMessage response) {
        boolean ready = response instanceof ReplyMessage.Ready is && is.ready();
        record(ready, true, "the server reports that it is not ready");
    }

    /** @param responded whether the server responded at all */
    private void record(boolean healthy, boolean responded, String reason) {
        if (probe.closed()) {
            return;
        }
        CheckResult result = healthy ? CheckResult.READY : responded ? CheckResult.NOT_READY : CheckResult.FAILED;
        replica.counts().checks(result).add(resources.nanoTime().getAsLong() - probedAt);
        if (!healthy) {
            // A different server may replace it at this address.
            replica.described(false);
        } else if (failedBefore) {
            replica.recovered();
        }
        failedBefore = !healthy;
        boolean first = replica.readiness().server() == ReplicaReadiness.ServerState.UNKNOWN;
        if (threshold.record(healthy)) {
            changed(healthy, reason, first);
        }
        if (responded) {
            // A server that reports itself not ready may still have ready models.
            models.probe();
        } else if (replica.readiness().server() == ReplicaReadiness.ServerState.NOT_READY) {
            models.reset();
        }
    }

    private void changed(boolean ready, String reason, boolean first) {
        ReplicaReadiness before = replica.readiness();
        if (!ready) {
            replica.readiness(before.with(ReplicaReadiness.ServerState.NOT_READY, reason));
            event(LOG.atWarn(), first)
                    .log("upstream '{}': {} is not ready and gets no calls: {}", upstream, replica.label(), reason);
            return;
        }
        if (!first) {
            replica.slowStart().restart(resources.nanoTime().getAsLong());
        }
        replica.readiness(before.with(ReplicaReadiness.ServerState.READY, ""));
        event(LOG.atInfo(), first).log("upstream '{}': {} is ready", upstream, replica.label());
    }

    /** @param first whether nothing was known of the server, which does not repeat */
    private LoggingEventBuilder event(LoggingEventBuilder event, boolean first) {
        return (first ? event : event.addMarker(RepeatingLogEvent.MARKER))
                .addKeyValue("upstream", upstream)
                .addKeyValue("server", replica.label());
    }

    @Override
    public void close() {
        probe.close();
        models.close();
    }

    /** @param message borrows the response */
    private record CheckReply(Consumer<ReplyMessage> message, Runnable then, Consumer<OipException> failed)
            implements Reply {
        @Override
        public void message(ReplyMessage response) {
            message.accept(response);
            response.release();
        }

        @Override
        public void complete() {
            then.run();
        }

        @Override
        public void fail(OipException failure) {
            failed.accept(failure);
        }
    }

    /** Turns consecutive probe results into a health state. The first result decides at once. */
    static final class HealthThreshold {
        private final Checks checks;
        private @Nullable Boolean healthy;
        private int opposite;

        HealthThreshold(Checks checks) {
            this.checks = checks;
        }

        /** Whether this result changed the state. */
        boolean record(boolean result) {
            if (healthy == null) {
                healthy = result;
                return true;
            }
            if (healthy == result) {
                opposite = 0;
                return false;
            }
            opposite++;
            if (opposite < (result ? checks.healthyAfter() : checks.unhealthyAfter())) {
                return false;
            }
            healthy = result;
            opposite = 0;
            return true;
        }

        /** Whether there was a result. */
        boolean known() {
            return healthy != null;
        }

        /** False before the first result. */
        boolean healthy() {
            return Boolean.TRUE.equals(healthy);
        }
    }
}
