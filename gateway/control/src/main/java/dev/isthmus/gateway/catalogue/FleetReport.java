package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the servers of a configuration said when they were asked.
 *
 * @param empty the names of upstreams without a server
 * @param models the models configured by name
 */
public record FleetReport(List<String> empty, List<ServerReport> servers, List<ModelReport> models) {

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
            ServerId source,
            boolean ready,
            String reason,
            @Nullable ServerMetadata metadata) {}

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
                    && (failure.code() == ErrorCode.UNAUTHENTICATED || failure.code() == ErrorCode.PERMISSION_DENIED);
        }
    }

    /** What is not there, and where replicas disagree; empty if all is good. */
    public List<String> problems() {
        List<String> problems = new ArrayList<>();
        empty.forEach(
                upstream -> problems.add("upstream '" + upstream + "': none of its names and Services has an address"));
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
        ArrayNode list = json.putArray("servers");
        servers.forEach(server -> add(list.addObject(), server));
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

    private static void add(ObjectNode node, ServerReport server) {
        node.put("upstream", server.source().upstream())
                .put("server", server.source().label())
                .put("ready", server.ready())
                .put("reason", server.reason());
        ServerMetadata metadata = server.metadata();
        if (metadata != null) {
            node.put("name", metadata.name()).put("version", metadata.version());
            ArrayNode extensions = node.putArray("extensions");
            metadata.extensions().forEach(extensions::add);
        }
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
