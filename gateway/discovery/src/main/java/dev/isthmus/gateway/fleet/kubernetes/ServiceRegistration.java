package dev.isthmus.gateway.fleet.kubernetes;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.Discovery.Registration;
import dev.isthmus.gateway.fleet.kubernetes.ResourceWatch.ResourceListener;
import dev.isthmus.gateway.fleet.kubernetes.ServiceEndpoints.FoundServers;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The servers of some Services together, for one listener. Used on the event loop; closed on any thread. */
final class ServiceRegistration implements Registration {
    private static final Logger LOG = LoggerFactory.getLogger(ServiceRegistration.class);

    private final List<WatchedService> services;
    private final Consumer<List<DiscoveredServer>> listener;
    private final Consumer<ServiceRegistration> release;
    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private int unresolved;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Without any servers yet.
     *
     * @param zone of the gateway; null if unknown
     * @param release called once when this is closed
     */
    ServiceRegistration(
            List<KubernetesService> services,
            @Nullable String zone,
            Consumer<List<DiscoveredServer>> listener,
            Consumer<ServiceRegistration> release) {
        this.services = services.stream()
                .map(service -> new WatchedService(service, zone))
                .toList();
        this.listener = listener;
        this.release = release;
        this.unresolved = services.size();
    }

    List<WatchedService> services() {
        return services;
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

    private void publish() {
        List<DiscoveredServer> all = new ArrayList<>();
        services.forEach(each -> all.addAll(each.servers));
        listener.accept(all);
    }

    /** One Service, and the servers found for it. */
    final class WatchedService implements ResourceListener<EndpointSlice> {
        private final KubernetesService service;
        private final ServiceEndpoints endpoints;
        private List<DiscoveredServer> servers = List.of();
        private @Nullable String problem;
        private boolean resolvedOnce;

        WatchedService(KubernetesService service, @Nullable String zone) {
            this.service = service;
            endpoints = new ServiceEndpoints(service, zone);
        }

        KubernetesService service() {
            return service;
        }

        @Override
        public void changed(Collection<EndpointSlice> slices) {
            if (closed.get()) {
                return;
            }
            FoundServers found = endpoints.of(slices);
            if (!found.servers().equals(servers)) {
                servers = found.servers();
                publish();
            }
            report(found.problem());
            resolved();
        }

        @Override
        public void failed() {
            resolved();
        }

        private void report(@Nullable String current) {
            if (current != null && !current.equals(problem)) {
                LOG.warn("'{}': the Service {}; it gets no calls", service, current);
            } else if (current == null && problem != null) {
                LOG.info("'{}': the Service has {} servers for calls", service, servers.size());
            }
            problem = current;
        }

        private void resolved() {
            if (!resolvedOnce) {
                resolvedOnce = true;
                if (--unresolved == 0) {
                    first.complete(null);
                }
            }
        }
    }
}
