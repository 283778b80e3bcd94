package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.dispatch.CallerAccess;
import dev.isthmus.gateway.fleet.ClusterResources;
import dev.isthmus.gateway.management.FleetService;
import dev.isthmus.gateway.management.ManageCall;
import dev.isthmus.gateway.openapi.ApiDescriptions;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ServerMetadata;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The catalogue of the fleet, and the service in front of it. */
final class FleetControlPlane implements ControlPlane {
    private final Catalogue catalogue;
    private final Service fleet;

    FleetControlPlane(DataPlane data) {
        GatewayConfig config = data.config();
        CallerAccess access = data.access();
        ClusterResources shared = data.resources().clusterResources();
        ModelLocations locations =
                new ModelLocations(data.routes(), config.health().modelReady());
        catalogue = new Catalogue(
                data.upstreams().all(),
                locations,
                new Catalogue.Settings(
                        new ServerMetadata("isthmus", "0", List.of("binary_tensor_data")),
                        config.health().serverReady(),
                        discovering(data)),
                new Catalogue.CatalogueResources(shared.loop(), shared, data.gateway()),
                ManageCall.INDEX,
                null);
        fleet = new FleetService(
                locations,
                catalogue,
                data.limits(),
                access.policy(),
                new ApiDescriptions(config.authentication(), access.openListeners()));
    }

    private static Set<Upstream> discovering(DataPlane data) {
        return data.config().upstreams().entrySet().stream()
                .filter(upstream -> upstream.getValue().discover())
                .map(upstream -> data.upstreams().required(upstream.getKey()))
                .collect(Collectors.toUnmodifiableSet());
    }

    Catalogue catalogue() {
        return catalogue;
    }

    @Override
    public Service fleet() {
        return fleet;
    }

    @Override
    public Map<String, Upstream> discovered() {
        return catalogue.discovered();
    }

    @Override
    public boolean lists(String model) {
        return catalogue.listed().contains(model);
    }

    @Override
    public ModelSignatures signatures() {
        return catalogue.signatures();
    }

    @Override
    public void start() {
        catalogue.start();
    }

    @Override
    public void close() {
        catalogue.close();
    }
}
