package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.transcoder.Transcoder;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The layers that each call passes, from its client to what answers it: {@link #layers} is the list, and {@link
 * Dispatcher} is behind it. Every kind of inference passes the whole list: unary ones, those with a stream of responses,
 * the generate extension, and each message of a stream.
 */
public final class ProxyStack {
    private ProxyStack() {}

    /**
     * The layers of one configuration, the outermost first. What is not configured is not in the list.
     *
     * @param forwardsIds whether servers get the ids of requests
     * @param telemetry records calls
     * @param errorTexts which of upstream servers' error texts clients get
     * @param access who may send what
     * @param payloadLog logs what calls send and get; null for nothing
     * @param keys names routes for metrics and logs
     * @param validation compares requests with metadata; null for nothing
     */
    public static List<Layer> layers(
            boolean forwardsIds,
            List<? extends Layer> telemetry,
            GatewayConfig.ErrorTexts errorTexts,
            CallerAccess access,
            @Nullable Layer payloadLog,
            RoutingTable routes,
            RouteKeys keys,
            RoutePolicyTable policies,
            @Nullable Layer validation) {
        Layer errors = switch (errorTexts) {
            case PASSED -> null;
            case CLIENT_ERRORS -> new GenericErrorTexts(true, routes);
            case GENERIC -> new GenericErrorTexts(false, routes);
        };
        List<Layer> layers = new ArrayList<>();
        layers.add(new RequestIds(forwardsIds));
        layers.addAll(telemetry);
        layers.add(errors);
        layers.add(access.authentication());
        layers.add(access.authorization());
        layers.add(payloadLog);
        layers.add(new AdmissionControl(policies.admission()));
        layers.add(new Routing(routes, keys, policies, access.policy()));
        layers.add(policies.any(each -> each.limits() != null) ? new RateLimiting() : null);
        layers.add(new TargetMetering());
        layers.add(
                policies.any(RoutePolicyTable.RoutePolicies::ramped)
                        ? new RampTiming(policies.ramps(), policies.nanoTime())
                        : null);
        layers.add(validation);
        layers.add(policies.any(each -> each.cache() != null) ? new CachePurging(policies.caches(), routes) : null);
        layers.removeIf(Objects::isNull);
        return layers;
    }

    /**
     * The stack of one configuration.
     *
     * @param layers of {@link #layers}
     * @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management
     */
    public static Layers of(
            List<Layer> layers,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway,
            MeterRegistry meters,
            LongSupplier nanoTime) {
        return new Layers(layers, new Dispatcher(fleet, rules, transcoder, gateway), meters, nanoTime);
    }
}
