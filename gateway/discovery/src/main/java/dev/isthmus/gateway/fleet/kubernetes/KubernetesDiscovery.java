package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.Discovery.WatchStart;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery.EndpointSlice.SliceEndpoint;
import dev.isthmus.gateway.fleet.kubernetes.KubernetesDiscovery.ServiceEndpoints.FoundServers;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.WatchedResources;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import io.netty.util.NetUtil;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Watches Services of Kubernetes: one watch for each, shared by all who registered for it. Thread-safe. */
public final class KubernetesDiscovery {
    private final Executor loop;
    private final Map<String, String> environment;
    private final RandomGenerator random;

    /** Guarded by this. */
    private final Map<WatchKey, SharedWatch> watches = new HashMap<>();

    private record WatchKey(KubernetesConfig access, KubernetesService service) {}

    /**
     * Without any watch yet.
     *
     * @param loop one thread, which calls the listeners
     * @param environment of the process
     * @param random thread-safe
     */
    public KubernetesDiscovery(Executor loop, Map<String, String> environment, RandomGenerator random) {
        this.loop = loop;
        this.environment = Map.copyOf(environment);
        this.random = random;
    }

    /**
     * Watches Services until the registration is closed. Does not block.
     *
     * @param listener receives all servers of all Services whenever they change; called on the loop
     */
    public Registration watch(
            KubernetesConfig access, List<KubernetesService> services, Consumer<List<DiscoveredServer>> listener) {
        List<WatchStart> each = new ArrayList<>();
        services.forEach(service -> each.add(servers -> register(new WatchKey(access, service), servers)));
        return Discovery.joined(each, listener);
    }

    /**
     * Watches the Services among the addresses of an upstream, and resolves its names by other means.
     *
     * @param names calls its listeners on the same loop as this
     */
    public Discovery with(Discovery names, KubernetesConfig access) {
        return (addresses, refresh, listener) -> {
            List<KubernetesService> watched = addresses.stream()
                    .filter(KubernetesService.class::isInstance)
                    .map(KubernetesService.class::cast)
                    .toList();
            List<ServerAddress> others = addresses.stream()
                    .filter(each -> !(each instanceof KubernetesService))
                    .toList();
            return Discovery.joined(
                    List.of(
                            servers -> names.watch(others, refresh, servers),
                            servers -> watch(access, watched, servers)),
                    listener);
        };
    }

    private synchronized WatchedService register(WatchKey key, Consumer<List<DiscoveredServer>> listener) {
        WatchedService watched = new WatchedService(listener, closed -> release(key, closed));
        watches.computeIfAbsent(key, this::start).add(watched);
        return watched;
    }

    private SharedWatch start(WatchKey key) {
        String configured = key.access().zone();
        String zone = configured != null ? configured : environment.getOrDefault("ISTHMUS_ZONE", "");
        ServiceEndpoints endpoints = new ServiceEndpoints(key.service(), zone.isBlank() ? null : zone);
        return new SharedWatch(loop, endpoints, new ApiServer(key.access(), environment), random);
    }

    private synchronized void release(WatchKey key, WatchedService watched) {
        watches.computeIfPresent(key, (same, watch) -> watch.remove(watched) ? null : watch);
    }

    /** Tells several listeners of the servers of one Service, on the event loop; new ones at once. Thread-safe. */
    static final class SharedWatch implements ResourceListener<EndpointSlice> {
        private static final Logger LOG = LoggerFactory.getLogger(SharedWatch.class);

        private final Executor loop;
        private final ServiceEndpoints endpoints;
        private final ResourceWatch<EndpointSlice> watch;

        // Used on the loop only.
        private final List<WatchedService> listeners = new ArrayList<>();
        private List<DiscoveredServer> servers = List.of();
        private @Nullable String problem;
        /** Whether the servers were listed, or could not be. */
        private boolean tried;

        /** Guarded by the lock of the {@link KubernetesDiscovery}. */
        private int registered;

        SharedWatch(Executor loop, ServiceEndpoints endpoints, ApiServer server, RandomGenerator random) {
            this.loop = loop;
            this.endpoints = endpoints;
            watch = new ResourceWatch<>(slices(endpoints.service()), server, this, random);
            watch.start();
        }

        private static WatchedResources<EndpointSlice> slices(KubernetesService service) {
            return new WatchedResources<>(
                    "Service '" + service.namespace() + "/" + service.service() + "'",
                    "its last servers stay in use",
                    "/apis/discovery.k8s.io/v1/namespaces/" + service.namespace()
                            + "/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D" + service.service(),
                    EndpointSlice::of);
        }

        void add(WatchedService listener) {
            registered++;
            onLoop(() -> {
                listeners.add(listener);
                listener.found(servers);
                if (tried) {
                    listener.first.complete(null);
                }
            });
        }

        /** Removes a listener. Closes the watch if it was the last one, and returns whether it was. */
        boolean remove(WatchedService listener) {
            registered--;
            if (registered == 0) {
                watch.close();
            } else {
                onLoop(() -> listeners.remove(listener));
            }
            return registered == 0;
        }

        @Override
        public void changed(Collection<EndpointSlice> slices) {
            onLoop(() -> {
                FoundServers found = endpoints.of(slices);
                servers = found.servers();
                listeners.forEach(each -> each.found(servers));
                report(found.problem());
                tried();
            });
        }

        @Override
        public void failed() {
            onLoop(this::tried);
        }

        private void tried() {
            tried = true;
            listeners.forEach(each -> each.first.complete(null));
        }

        private void report(@Nullable String current) {
            if (current != null && !current.equals(problem)) {
                LOG.warn("'{}': the Service {}; it gets no calls", endpoints.service(), current);
            } else if (current == null && problem != null) {
                LOG.info("'{}': the Service has {} servers for calls", endpoints.service(), servers.size());
            }
            problem = current;
        }

        private void onLoop(Runnable task) {
            EventLoops.handOver(loop, task);
        }
    }

    /** Somebody who hears of the servers of a Service, on the event loop. Closed on any thread. */
    private static final class WatchedService implements Registration {
        private final Consumer<List<DiscoveredServer>> listener;
        private final Consumer<WatchedService> release;
        private final CompletableFuture<Void> first = new CompletableFuture<>();
        private final AtomicBoolean closed = new AtomicBoolean();
        private List<DiscoveredServer> heard = List.of();

        /** @param release called once when this is closed */
        WatchedService(Consumer<List<DiscoveredServer>> listener, Consumer<WatchedService> release) {
            this.listener = listener;
            this.release = release;
        }

        /** Throws nothing: others are to hear, too. A listener that has thrown is told again with the next change. */
        void found(List<DiscoveredServer> servers) {
            if (!closed.get() && !servers.equals(heard)) {
                try {
                    listener.accept(servers);
                    heard = servers;
                } catch (RuntimeException | OutOfMemoryError fault) {
                    RepeatingLogEvent.fault(SharedWatch.LOG, fault)
                            .log("internal error: servers of a Service are not used; please report it");
                }
            }
        }

        @Override
        public CompletableFuture<Void> first() {
            return first;
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                release.accept(this);
            }
        }
    }

    /**
     * The servers behind a port of a Service, out of its EndpointSlices.
     *
     * @param zone of the gateway; null if unknown
     */
    record ServiceEndpoints(
            KubernetesService service, @Nullable String zone) {
        /**
         * The result.
         *
         * @param problem why there are no servers; null if there are
         */
        record FoundServers(
                List<DiscoveredServer> servers, @Nullable String problem) {
            FoundServers {
                servers = List.copyOf(servers);
            }
        }

        private record PortEndpoint(SliceEndpoint endpoint, int port) {}

        /** The servers for new calls. */
        FoundServers of(Collection<EndpointSlice> slices) {
            if (slices.isEmpty()) {
                return none("has no EndpointSlices; a Service with a selector is expected");
            }
            List<EndpointSlice> family = family(slices);
            if (family.isEmpty()) {
                return none("has no addresses of type IPv4 or IPv6");
            }
            Set<String> names = new TreeSet<>();
            family.forEach(slice -> names.addAll(slice.ports().keySet()));
            String port = service.port();
            if (port == null && names.size() > 1) {
                return none("has several ports; the name of one is expected: " + String.join(", ", names));
            }
            if (port != null && !names.isEmpty() && !names.contains(port)) {
                return none("has no TCP port named '" + port + "'; its ports are: " + String.join(", ", names));
            }
            return usable(family, port == null ? String.join("", names) : port);
        }

        /** A Service of both families has each pod in slices of both: only those for IPv4 are used. */
        private static List<EndpointSlice> family(Collection<EndpointSlice> slices) {
            for (String type : List.of("IPv4", "IPv6")) {
                List<EndpointSlice> family = slices.stream()
                        .filter(slice -> slice.addressType().equals(type)
                                && !slice.endpoints().isEmpty())
                        .toList();
                if (!family.isEmpty()) {
                    return family;
                }
            }
            return slices.stream()
                    .filter(slice -> !slice.addressType().equals("FQDN"))
                    .toList();
        }

        private FoundServers usable(List<EndpointSlice> slices, String port) {
            List<PortEndpoint> usable = new ArrayList<>();
            int all = 0;
            for (EndpointSlice slice : slices) {
                Integer number = slice.ports().get(port);
                all += slice.endpoints().size();
                for (SliceEndpoint endpoint : slice.endpoints()) {
                    if (number != null
                            && endpoint.usable()
                            && NetUtil.createByteArrayFromIpAddressString(endpoint.address()) != null) {
                        usable.add(new PortEndpoint(endpoint, number));
                    }
                }
            }
            return usable.isEmpty()
                    ? none(all == 0 ? "has no endpoints" : "has no ready endpoint among " + all)
                    : new FoundServers(inZone(usable).stream().map(this::server).toList(), null);
        }

        /** As kube-proxy does it: hints count only if each endpoint has some, and one is for this zone. */
        private List<PortEndpoint> inZone(List<PortEndpoint> usable) {
            if (zone == null
                    || usable.stream().anyMatch(each -> each.endpoint().zones().isEmpty())) {
                return usable;
            }
            List<PortEndpoint> near = usable.stream()
                    .filter(each -> each.endpoint().zones().contains(zone))
                    .toList();
            return near.isEmpty() ? usable : near;
        }

        /** With the Service's name as authority: certificates are issued for it. */
        private DiscoveredServer server(PortEndpoint each) {
            String authority = service.service() + "." + service.namespace() + ".svc:" + each.port();
            return new DiscoveredServer(new Endpoint(each.endpoint().address(), each.port()), authority);
        }

        private static FoundServers none(String problem) {
            return new FoundServers(List.of(), problem);
        }
    }

    /**
     * An EndpointSlice, {@code discovery.k8s.io/v1}.
     *
     * @param addressType IPv4, IPv6 or FQDN
     * @param ports TCP ports by name; a Service's only port may have an empty name
     */
    record EndpointSlice(String addressType, Map<String, Integer> ports, List<SliceEndpoint> endpoints) {

        /**
         * One endpoint.
         *
         * @param usable whether it takes new calls: it is ready and not terminating
         * @param zones those that it is hinted for
         */
        record SliceEndpoint(String address, boolean usable, Set<String> zones) {}

        static EndpointSlice of(JsonNode slice) {
            Map<String, Integer> ports = new LinkedHashMap<>();
            for (JsonNode port : slice.path("ports")) {
                int number = port.path("port").asInt();
                if (number > 0 && port.path("protocol").asText("TCP").equals("TCP")) {
                    ports.put(port.path("name").asText(""), number);
                }
            }
            List<SliceEndpoint> endpoints = new ArrayList<>();
            for (JsonNode endpoint : slice.path("endpoints")) {
                // All addresses of an endpoint are the same server; consumers use the first.
                String address = endpoint.path("addresses").path(0).asText("");
                if (!address.isEmpty()) {
                    endpoints.add(new SliceEndpoint(address, usable(endpoint.path("conditions")), zones(endpoint)));
                }
            }
            return new EndpointSlice(slice.path("addressType").asText(), ports, endpoints);
        }

        /** A condition that is not given is unknown; "ready" is then to be taken as true. */
        private static boolean usable(JsonNode conditions) {
            return conditions.path("ready").asBoolean(true)
                    && !conditions.path("terminating").asBoolean(false);
        }

        private static Set<String> zones(JsonNode endpoint) {
            Set<String> zones = new LinkedHashSet<>();
            endpoint.path("hints")
                    .path("forZones")
                    .forEach(zone -> zones.add(zone.path("name").asText()));
            return zones;
        }
    }
}
