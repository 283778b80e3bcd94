package dev.isthmus.gateway.fleet.kubernetes;

import dev.isthmus.gateway.fleet.Discovery;
import dev.isthmus.gateway.settings.KubernetesConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
        return Discovery.joined(
                List.of(
                        servers -> names.watch(resolved, refresh, servers),
                        servers -> services.watch(access, watched, servers)),
                listener);
    }
}
