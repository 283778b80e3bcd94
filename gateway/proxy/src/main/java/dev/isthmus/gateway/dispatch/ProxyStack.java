package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.transcoder.Transcoder;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * The layers that a call goes through, from its client to a server. Each hands it to the next and sees what comes back.
 *
 * <ol>
 *   <li>{@link CallTracking}: fills in the call's context; metrics are observers of it
 *   <li>{@link GenericErrorTexts}: hides what servers say of failures, where that is configured
 *   <li>{@link AdmissionControl}: concurrency permits, memory of requests
 *   <li>{@link Dispatcher}: the route; what concerns the fleet goes to its service from here
 *   <li>{@link RouteCall}: rate limits, shadows and ramps of the route. They need the request's parameters, so that
 *       {@link InferCall} tells it of each step instead of handing the call through
 *   <li>{@link InferCall}: the target, transcoding, the fallback. A {@link StreamCallFlow} does this for each message
 *   <li>{@link dev.isthmus.gateway.fleet.Cluster}: circuit breaker, retries, balancing
 *   <li>{@link dev.isthmus.gateway.upstream.Upstream}: one server, over gRPC, REST or in this process
 * </ol>
 */
public final class ProxyStack {
    private ProxyStack() {}

    /**
     * The stack of one configuration.
     *
     * @param observers follow each call, in this order
     * @param genericErrors whether clients get fixed texts for what servers say of failures
     * @param keys names routes for metrics and logs
     * @param fleet serves what is asked of the fleet and not of a model's server
     */
    public static Service of(
            List<CallObserver> observers,
            boolean genericErrors,
            RoutingTable routes,
            RouteKeys keys,
            RoutePolicyTable policies,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway,
            LongSupplier nanoTime) {
        Service dispatcher = new Dispatcher(routes, keys, policies, fleet, rules, transcoder, gateway);
        Service admission = new AdmissionControl(dispatcher, policies.admission());
        Service errors = genericErrors ? new GenericErrorTexts(admission, nanoTime) : admission;
        return new CallTracking(errors, observers, nanoTime);
    }
}
