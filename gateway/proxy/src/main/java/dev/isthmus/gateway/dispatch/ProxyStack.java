package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.payloadlog.ReloadablePayloadLog;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.transcoder.Transcoder;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * The layers that a call passes through, from its client to a server. Each one forwards it to the next and sees the
 * replies.
 *
 * <ol>
 *   <li>{@link RequestIds}: {@code x-request-id}
 *   <li>{@link CallTracking}: fills in the call's context; metrics are observers of it
 *   <li>{@link GenericErrorTexts}: hides upstream servers' error texts, if so configured
 *   <li>{@link Authentication}: who the caller is, if so configured
 *   <li>{@link Authorization}: what the caller may do
 *   <li>{@link ReloadablePayloadLog}: requests and responses of the calls that are logged, if so configured
 *   <li>{@link AdmissionControl}: concurrency permits, memory of requests
 *   <li>{@link Dispatcher}: selects the route; passes requests about the fleet to its service
 *   <li>{@link RouteCall}: rate limits, target, shadows and ramps of the route, for every kind of inference. They need the
 *       request's parameters, so the flows report each step of a request to it; their replies pass through it
 *   <li>{@link InferCall}: transcoding, the fallback. A {@link StreamCallFlow} does this for each message; a
 *       {@link GenerateCall} passes the body through
 *   <li>{@link dev.isthmus.gateway.fleet.Cluster}: circuit breaker, retries, balancing
 *   <li>{@link dev.isthmus.gateway.upstream.Upstream}: one server, over gRPC, REST or in this process
 * </ol>
 */
public final class ProxyStack {
    private ProxyStack() {}

    /**
     * The stack of one configuration.
     *
     * @param observers notified of each call, in this order
     * @param payloads logs what calls send and get
     * @param errorTexts which of upstream servers' error texts clients get
     * @param forwardsIds whether servers get the ids of requests
     * @param keys names routes for metrics and logs
     * @param access who may send what
     * @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management
     */
    public static Service of(
            List<CallObserver> observers,
            ReloadablePayloadLog payloads,
            GatewayConfig.ErrorTexts errorTexts,
            boolean forwardsIds,
            RoutingTable routes,
            RouteKeys keys,
            RoutePolicyTable policies,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway,
            CallerAccess access,
            LongSupplier nanoTime) {
        Authorization.CallRules allowed = new Authorization.CallRules(access.policy(), access.metrics());
        Service dispatcher = new Dispatcher(routes, keys, policies, fleet, rules, transcoder, gateway, allowed);
        Service admission = new AdmissionControl(dispatcher, policies.admission());
        Service identified = access.layers(payloads.layer(admission), allowed);
        Service errors = switch (errorTexts) {
            case PASSED -> identified;
            case CLIENT_ERRORS -> new GenericErrorTexts(identified, true, routes);
            case GENERIC -> new GenericErrorTexts(identified, false, routes);
        };
        return new RequestIds(new CallTracking(errors, observers, nanoTime), forwardsIds);
    }
}
