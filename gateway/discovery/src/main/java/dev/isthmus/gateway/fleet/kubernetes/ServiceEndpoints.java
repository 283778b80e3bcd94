package dev.isthmus.gateway.fleet.kubernetes;

import dev.isthmus.gateway.fleet.Discovery.DiscoveredServer;
import dev.isthmus.gateway.fleet.kubernetes.EndpointSlice.SliceEndpoint;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import io.netty.util.NetUtil;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The servers behind a port of a Service, out of its EndpointSlices.
 *
 * @param zone of the gateway; null if unknown
 */
record ServiceEndpoints(KubernetesService service, @Nullable String zone) {
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

    /** An endpoint with the port's number in its slice. */
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
