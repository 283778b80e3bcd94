package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.FleetReport.ModelReport;
import dev.isthmus.gateway.catalogue.FleetReport.ReplicaReport;
import dev.isthmus.gateway.catalogue.FleetReport.ServerReport;
import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.gateway.fleet.ConcurrencyLimiter;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Asks every server once for its metadata and those of the models that are configured on it, and waits for the first
 * health check of each. Unlike the catalogue it asks all of them, and ends. Used on one event loop.
 */
public final class FleetSurvey {
    private static final int MAX_IN_FLIGHT = 16;
    private static final long TICK_MILLIS = 50;

    private final List<Upstream> upstreams;
    private final ModelLocations locations;
    private final EventLoop loop;
    private final CatalogueRequests requests;
    private final ServerRecords records;
    private final ConcurrencyLimiter limiter = new ConcurrencyLimiter(MAX_IN_FLIGHT);
    private final CompletableFuture<FleetReport> result = new CompletableFuture<>();
    private final Map<Upstream, ServerMetadata> metadata = new HashMap<>();
    private final Map<SurveyedModel, DescriptionResult> descriptions = new HashMap<>();
    private final long deadlineNanos;
    private int pending;

    private record SurveyedModel(Upstream server, ModelRef model) {}

    private record DescriptionResult(
            @Nullable ModelMetadata metadata, @Nullable OipException failure) {}

    private FleetSurvey(
            List<Upstream> upstreams,
            ModelLocations locations,
            EventLoop loop,
            ByteBufAllocator allocator,
            Duration timeout) {
        this.upstreams = List.copyOf(upstreams);
        this.locations = locations;
        this.loop = loop;
        this.deadlineNanos = System.nanoTime() + timeout.toNanos();
        requests = new CatalogueRequests(loop, allocator, (upstream, what) -> {}, (call, server, reply) -> {});
        records = new ServerRecords(upstreams, locations);
    }

    /**
     * Asks all servers. The report is complete when all have responded and were checked, otherwise after the timeout.
     *
     * @param upstreams whose names have been resolved
     */
    public static CompletableFuture<FleetReport> of(
            List<Upstream> upstreams,
            ModelLocations locations,
            EventLoop loop,
            ByteBufAllocator allocator,
            Duration timeout) {
        FleetSurvey survey = new FleetSurvey(upstreams, locations, loop, allocator, timeout);
        loop.execute(survey::begin);
        return survey.result;
    }

    private void begin() {
        for (ServerRecord record : records.all()) {
            Upstream server = record.server();
            ask(() -> requests.serverMetadata(server, (message, failure) -> described(server, message)));
        }
        for (String name : locations.configured()) {
            for (Target target : locations.of(ModelRef.of(name)).targets()) {
                for (ServerRecord record : records.of(target.upstream())) {
                    describe(new SurveyedModel(record.server(), target.model()));
                }
            }
        }
        tick();
    }

    /** Several models may go to the same one. */
    private void describe(SurveyedModel model) {
        if (descriptions.putIfAbsent(model, new DescriptionResult(null, null)) == null) {
            ask(() -> requests.modelMetadata(
                    model.server(), model.model(), (message, failure) -> described(model, message, failure)));
        }
    }

    private void ask(Runnable request) {
        pending++;
        limiter.submit(() -> {
            if (result.isDone()) {
                ended();
            } else {
                request.run();
            }
        });
    }

    private void ended() {
        pending--;
        limiter.completed();
    }

    /** Not every server has metadata; if it does not respond, the health check says why. */
    private void described(Upstream server, @Nullable ReplyMessage message) {
        if (message instanceof ReplyMessage.Server is) {
            metadata.put(server, is.metadata());
        }
        ended();
    }

    private void described(SurveyedModel model, @Nullable ReplyMessage message, @Nullable OipException failure) {
        if (message instanceof ReplyMessage.Model is) {
            descriptions.put(model, new DescriptionResult(is.metadata(), null));
        } else if (failure != null) {
            descriptions.put(model, new DescriptionResult(null, failure));
        }
        ended();
    }

    private void tick() {
        records.refresh();
        if ((pending == 0 && checked()) || System.nanoTime() - deadlineNanos >= 0) {
            result.complete(report());
        } else {
            loop.schedule(this::tick, TICK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private boolean checked() {
        return records.allChecked()
                && descriptions.keySet().stream()
                        .allMatch(model -> record(model.server())
                                .map(record -> record.knows(model.model()))
                                .orElse(true));
    }

    private Optional<ServerRecord> record(Upstream server) {
        return records.all().stream()
                .filter(record -> record.server() == server)
                .findFirst();
    }

    private FleetReport report() {
        List<String> empty = upstreams.stream()
                .filter(upstream -> records.of(upstream).isEmpty())
                .map(Upstream::name)
                .toList();
        List<ServerReport> servers = new ArrayList<>();
        for (ServerRecord record : records.all()) {
            ReplicaStatus seen = record.seen();
            servers.add(new ServerReport(record.source(), seen.ready(), seen.reason(), metadata.get(record.server())));
        }
        return new FleetReport(
                empty, servers, locations.configured().stream().map(this::model).toList());
    }

    private ModelReport model(String name) {
        List<ReplicaReport> replicas = new ArrayList<>();
        List<ModelDescription> described = new ArrayList<>();
        for (Target target : locations.of(ModelRef.of(name)).targets()) {
            for (ServerRecord record : records.of(target.upstream())) {
                DescriptionResult said = descriptions.get(new SurveyedModel(record.server(), target.model()));
                ModelMetadata known = said == null ? null : said.metadata();
                boolean ready = record.isReady(target.model());
                replicas.add(new ReplicaReport(
                        record.source(), target.model(), ready, known, said == null ? null : said.failure()));
                if (known != null) {
                    described.add(new ModelDescription(record.source(), target.model(), ready, known));
                }
            }
        }
        List<Drift> drift =
                MergedModel.of(name, described).map(MergedModel::drift).orElse(List.of());
        return new ModelReport(name, replicas, drift);
    }
}
