package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.FleetSurvey.FleetReport.ModelReport;
import dev.isthmus.gateway.catalogue.FleetSurvey.FleetReport.ReplicaReport;
import dev.isthmus.gateway.catalogue.FleetSurvey.FleetReport.ServerReport;
import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.gateway.catalogue.MergedModel.ModelDescription;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.catalogue.OnDemandChecks.ModelOnServer;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
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
    private final CompletableFuture<FleetReport> result = new CompletableFuture<>();
    private final Map<ModelOnServer, DescriptionResult> descriptions = new HashMap<>();
    private final long deadlineNanos;
    private int pending;

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
        requests = new CatalogueRequests(
                loop, allocator, (upstream, what) -> {}, (call, server, reply) -> {}, MAX_IN_FLIGHT);
        records = new ServerRecords(upstreams, locations, Map.of());
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
            pending++;
            requests.serverMetadata(record.server(), (message, failure) -> described(record, message));
        }
        for (ModelLocation location : locations.configured()) {
            for (Target target : location.targets()) {
                for (ServerRecord record : records.of(target.upstream())) {
                    describe(new ModelOnServer(record.server(), target.model()));
                }
            }
        }
        tick();
    }

    /** Several models may go to the same one. */
    private void describe(ModelOnServer model) {
        if (descriptions.putIfAbsent(model, new DescriptionResult(null, null)) == null) {
            pending++;
            requests.modelMetadata(
                    model.server(), model.model(), (message, failure) -> described(model, message, failure));
        }
    }

    /** Not every server has metadata; if it does not respond, the health check says why. */
    private void described(ServerRecord record, @Nullable ReplyMessage message) {
        if (message instanceof ReplyMessage.Server is) {
            record.metadata = is.metadata();
        }
        pending--;
    }

    private void described(ModelOnServer model, @Nullable ReplyMessage message, @Nullable OipException failure) {
        if (message instanceof ReplyMessage.Model is) {
            descriptions.put(model, new DescriptionResult(is.metadata(), null));
        } else if (failure != null) {
            descriptions.put(model, new DescriptionResult(null, failure));
        }
        pending--;
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
                && records.all().stream()
                        .allMatch(record -> descriptions.keySet().stream()
                                .filter(model -> model.server() == record.server())
                                .allMatch(model -> record.knows(model.model())));
    }

    private FleetReport report() {
        List<String> empty = upstreams.stream()
                .filter(upstream -> records.of(upstream).isEmpty())
                .map(Upstream::name)
                .toList();
        List<ServerReport> servers = new ArrayList<>();
        for (ServerRecord record : records.all()) {
            ReplicaStatus seen = record.seen();
            servers.add(new ServerReport(record.source(), seen.ready(), seen.reason(), record.metadata));
        }
        return new FleetReport(
                empty, servers, locations.configured().stream().map(this::model).toList());
    }

    private ModelReport model(ModelLocation location) {
        String name = location.requested().name();
        List<ReplicaReport> replicas = new ArrayList<>();
        List<ModelDescription> described = new ArrayList<>();
        for (Target target : location.targets()) {
            for (ServerRecord record : records.of(target.upstream())) {
                DescriptionResult said = descriptions.get(new ModelOnServer(record.server(), target.model()));
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

    /**
     * What the servers of a configuration said when they were asked.
     *
     * @param empty the names of upstreams without a server
     * @param models the models configured by name
     */
    public record FleetReport(List<String> empty, List<ServerReport> servers, List<ModelReport> models) {
        private static final ObjectMapper JSON = new ObjectMapper();

        public FleetReport {
            empty = List.copyOf(empty);
            servers = List.copyOf(servers);
            models = List.copyOf(models);
        }

        /**
         * One server.
         *
         * @param reason why it is not ready; empty if it is
         * @param metadata null if it did not send any
         */
        public record ServerReport(
                @JsonUnwrapped ServerId source,
                boolean ready,
                String reason,
                @JsonUnwrapped @Nullable ServerMetadata metadata) {}

        /**
         * One model on all of its servers.
         *
         * @param drift where replicas differ
         */
        public record ModelReport(String name, List<ReplicaReport> replicas, List<Drift> drift) {

            public ModelReport {
                replicas = List.copyOf(replicas);
                drift = List.copyOf(drift);
            }
        }

        /**
         * One model on one server.
         *
         * @param requested its name and version there
         * @param metadata null if there are none
         * @param failure why there are none; null if the server was not asked, or has not responded in time
         */
        public record ReplicaReport(
                ServerId source,
                ModelRef requested,
                boolean ready,
                @Nullable ModelMetadata metadata,
                @Nullable OipException failure) {

            /** Why it cannot be called or compared; empty if it can, or only clients may ask for it. */
            private String problem() {
                if (!ready) {
                    return failure == null ? "it is not ready" : "it is not ready: " + failure.message();
                }
                if (metadata != null || restricted()) {
                    return "";
                }
                return failure == null ? "its metadata were not sent in time" : "no metadata: " + failure.message();
            }

            private boolean restricted() {
                return failure != null
                        && (failure.code() == ErrorCode.UNAUTHENTICATED
                                || failure.code() == ErrorCode.PERMISSION_DENIED);
            }
        }

        /** What is not there, and where replicas disagree; empty if all is good. */
        public List<String> problems() {
            List<String> problems = new ArrayList<>();
            empty.forEach(upstream ->
                    problems.add("upstream '" + upstream + "': none of its names and Services has an address"));
            for (ServerReport server : servers) {
                if (!server.ready()) {
                    problems.add(text(server.source()) + " is not ready: " + server.reason());
                }
            }
            for (ModelReport model : models) {
                for (ReplicaReport replica : model.replicas()) {
                    // The reason of a server that is not ready is enough.
                    if (ready(replica.source()) && !replica.problem().isEmpty()) {
                        problems.add(
                                "model '" + model.name() + "' on " + text(replica.source()) + ": " + replica.problem());
                    }
                }
                model.drift()
                        .forEach(each -> problems.add("model '" + model.name() + "': replicas differ: " + each.text()));
            }
            return problems;
        }

        private boolean ready(ServerId source) {
            return servers.stream().noneMatch(server -> server.source().equals(source) && !server.ready());
        }

        private static String text(ServerId source) {
            return "upstream '" + source.upstream() + "', server " + source.label();
        }

        /** The report as JSON. */
        public ObjectNode document() {
            ObjectNode json = JsonNodeFactory.instance.objectNode();
            List<String> problems = problems();
            json.put("good", problems.isEmpty());
            json.set("servers", JSON.valueToTree(servers));
            ArrayNode all = json.putArray("models");
            for (ModelReport model : models) {
                ObjectNode node = all.addObject().put("name", model.name());
                ArrayNode replicas = node.putArray("servers");
                model.replicas().forEach(replica -> add(replicas.addObject(), replica));
                ArrayNode drift = node.putArray("drift");
                model.drift().forEach(each -> drift.add(each.text()));
            }
            ArrayNode said = json.putArray("problems");
            problems.forEach(said::add);
            return json;
        }

        private static void add(ObjectNode node, ReplicaReport replica) {
            node.put("upstream", replica.source().upstream())
                    .put("server", replica.source().label())
                    .put("model", replica.requested().name())
                    .put("version", replica.requested().version())
                    .put("ready", replica.ready());
            ModelMetadata metadata = replica.metadata();
            if (metadata != null) {
                node.put("platform", metadata.platform());
                ArrayNode versions = node.putArray("versions");
                metadata.versions().forEach(versions::add);
            }
        }
    }
}
