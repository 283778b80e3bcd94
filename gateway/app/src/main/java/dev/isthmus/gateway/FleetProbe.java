package dev.isthmus.gateway;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.catalogue.ModelLocations.ModelLocation;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.fleet.kserve.InferenceServiceDiscovery;
import dev.isthmus.gateway.management.ManageCall;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.pool.Upstreams;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.SelectionState;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** What a gateway would know of the servers of a configuration soon after its start, without serving. */
public final class FleetProbe {
    private FleetProbe() {}

    /**
     * Connects to every server, also to those of InferenceServices. Blocks until all have responded, for at most the
     * timeout and the time that finding InferenceServices and resolving names takes.
     *
     * @return {@code servers} as the admin address lists them, {@code problems}: what is not there, and where replicas
     *     disagree, and whether all is {@code good}
     */
    public static ObjectNode of(GatewayConfig config, Duration timeout) {
        EventLoopGroup loops = EventLoops.start(Transport.best());
        try (InferenceServiceDiscovery discovery = new InferenceServiceDiscovery(loops, () -> {}, Map::of)) {
            return of(discovery.merged(config), timeout, loops);
        } finally {
            EventLoops.stop(loops);
        }
    }

    private static ObjectNode of(GatewayConfig config, Duration timeout, EventLoopGroup loops) {
        MeterRegistry meters = new SimpleMeterRegistry();
        Upstreams.UpstreamResources resources = Upstreams.UpstreamResources.real(
                loops.next(),
                ByteBufAllocator.DEFAULT,
                meters,
                new TlsRegistry(meters),
                new ConnectionTable(),
                () -> false);
        try (Upstreams upstreams = new Upstreams(config, resources)) {
            String fallback = config.defaultUpstream();
            RoutingTable routes = new RoutingTable(
                    config.models(),
                    upstreams::required,
                    fallback == null ? null : upstreams.required(fallback),
                    Map::of,
                    SelectionState.of(System::nanoTime));
            resources.checked().configure(routes);
            upstreams.awaitResolution();
            upstreams.awaitLocalModels(() -> false);
            ModelLocations models = new ModelLocations(routes, config.health().modelReady());
            ServerMetadata self = new ServerMetadata("isthmus", Version.current(), List.of());
            try (Catalogue catalogue = new Catalogue(
                    upstreams.all(),
                    models,
                    new Catalogue.Settings(self, config.health().serverReady(), Set.of()),
                    new Catalogue.CatalogueResources(loops.next(), resources.clusterResources(), () -> null),
                    ManageCall.INDEX,
                    null)) {
                catalogue.start();
                catalogue
                        .surveyed()
                        .completeOnTimeout(null, timeout.toNanos(), TimeUnit.NANOSECONDS)
                        .join();
                return report(catalogue.membersDocument(true), problems(upstreams, models, catalogue));
            }
        } catch (OipException e) {
            // The repository of the local models cannot be read.
            return report(JsonNodeFactory.instance.objectNode(), Set.of(e.message()));
        }
    }

    private static ObjectNode report(ObjectNode members, Set<String> problems) {
        ObjectNode report = members.retain("servers").put("good", problems.isEmpty());
        problems.forEach(report.putArray("problems")::add);
        return report;
    }

    private static Set<String> problems(Upstreams upstreams, ModelLocations models, Catalogue catalogue) {
        Set<String> problems = new LinkedHashSet<>();
        for (Upstream upstream : upstreams.all()) {
            if (catalogue.members(upstream).isEmpty()) {
                problems.add("upstream '" + upstream.name() + "': none of its names and Services has an address");
            }
        }
        for (ReplicaStatus server : catalogue.members()) {
            if (!server.ready()) {
                problems.add(text(server) + " is not ready: " + server.reason());
            }
            ServerCapabilities capabilities = server.server().capabilities();
            if (capabilities != null && capabilities.report().contradicted()) {
                // The same for all servers of an upstream.
                problems.add("upstream '" + server.upstream() + "': "
                        + capabilities.report().sentence());
            }
        }
        Map<String, List<String>> drift = catalogue.driftTexts();
        for (ModelLocation model : models.configured()) {
            String name = "model '" + model.requested().name() + "'";
            for (Target target : model.targets()) {
                // The reason of a server that is not ready is enough.
                catalogue.members(target.upstream()).stream()
                        .filter(server -> server.ready()
                                && !Boolean.TRUE.equals(server.models().get(target.model())))
                        .forEach(server -> problems.add(name + " on " + text(server) + ": it is not ready"));
            }
            drift.getOrDefault(model.requested().name(), List.of())
                    .forEach(each -> problems.add(name + ": replicas differ: " + each));
        }
        return problems;
    }

    private static String text(ReplicaStatus server) {
        return "upstream '" + server.upstream() + "', server " + server.label();
    }
}
