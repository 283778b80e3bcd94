package dev.isthmus.gateway.fleet.kubernetes;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Watches the Services among the addresses of an upstream, and resolves its names by other means.
 *
 * @param names calls its listeners on the same loop as {@code services}
 */
public record ServiceDiscovery(Discovery names, KubernetesDiscovery services, KubernetesConfig access)
        implements Discovery {
    @Override
    public Registration watch(
            List<ServerAddress> addresses, Duration refresh, Consumer<List<DiscoveredServer>> listener) {
        List<KubernetesService> watched = new ArrayList<>();
        List<ServerAddress> resolved = new ArrayList<>();
        for (ServerAddress address : addresses) {
            if (address instanceof KubernetesService service) {
                watched.add(service);
            } else {
                resolved.add(address);
            }
        }
        if (resolved.isEmpty()) {
            return services.watch(access, watched, listener);
        }
        UnionOfServers union = new UnionOfServers(listener);
        return new BothRegistrations(
                services.watch(access, watched, union::ofServices), names.watch(resolved, refresh, union::ofNames));
    }

    /** The servers found by both means. Used on the event loop. */
    private static final class UnionOfServers {
        private final Consumer<List<DiscoveredServer>> listener;
        private List<DiscoveredServer> ofServices = List.of();
        private List<DiscoveredServer> ofNames = List.of();

        UnionOfServers(Consumer<List<DiscoveredServer>> listener) {
            this.listener = listener;
        }

        void ofServices(List<DiscoveredServer> servers) {
            ofServices = servers;
            publish();
        }

        void ofNames(List<DiscoveredServer> servers) {
            ofNames = servers;
            publish();
        }

        private void publish() {
            List<DiscoveredServer> all = new ArrayList<>(ofNames);
            all.addAll(ofServices);
            listener.accept(all);
        }
    }

    /** Both registrations as one. */
    private record BothRegistrations(Registration services, Registration names, CompletableFuture<Void> first)
            implements Registration {

        BothRegistrations(Registration services, Registration names) {
            this(services, names, CompletableFuture.allOf(services.first(), names.first()));
        }

        @Override
        public void close() {
            services.close();
            names.close();
        }
    }
}
