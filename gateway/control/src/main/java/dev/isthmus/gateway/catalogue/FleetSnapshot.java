package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * A snapshot of the fleet's state, without model metadata and the index.
 *
 * @param members by server, in their order
 * @param server whether the gateway reports itself ready
 * @param models by name, whether each configured model is ready; without models that were not checked on all servers
 * @param metadata the gateway's
 * @param settled whether every server has been checked
 */
record FleetSnapshot(
        Map<Upstream, ReplicaStatus> members,
        ReadinessReport server,
        Map<String, Boolean> models,
        ServerMetadata metadata,
        boolean settled) {

    FleetSnapshot {
        members = Collections.unmodifiableMap(new LinkedHashMap<>(members));
        models = Map.copyOf(models);
    }

    /**
     * For the admin listener.
     *
     * @param notReady why V2 clients are told that the gateway is not ready; empty if it is ready
     * @param readyModels whether the models that are ready are listed, too: they may be many
     */
    ObjectNode document(String notReady, boolean readyModels) {
        ObjectNode json = JsonNodeFactory.instance
                .objectNode()
                .put("ready", notReady.isEmpty())
                .put("reason", notReady);
        ArrayNode missing = json.putArray("missing");
        server.missing().forEach(missing::add);
        ArrayNode servers = json.putArray("servers");
        for (ReplicaStatus member : members.values()) {
            ObjectNode node = servers.addObject()
                    .put("upstream", member.upstream())
                    .put("server", member.label())
                    .put("ready", member.ready())
                    .put("reason", member.reason())
                    .put("ejected", member.ejected())
                    .put("models_all", member.models().size())
                    .put("models_ready", Collections.frequency(member.models().values(), true));
            ServerCapabilities capabilities = member.server().capabilities();
            if (capabilities != null) {
                node.put("dialect", capabilities.dialect().name().toLowerCase(Locale.ROOT))
                        .put("dialect_reason", capabilities.dialectReason());
            }
            ArrayNode list = node.putArray("models");
            member.models().entrySet().stream()
                    .filter(entry -> readyModels || !entry.getValue())
                    .sorted(Map.Entry.comparingByKey(
                            Comparator.comparing(ModelRef::name).thenComparing(ModelRef::version)))
                    .forEach(entry -> list.addObject()
                            .put("name", entry.getKey().name())
                            .put("version", entry.getKey().version())
                            .put("ready", entry.getValue()));
        }
        return json;
    }
}
