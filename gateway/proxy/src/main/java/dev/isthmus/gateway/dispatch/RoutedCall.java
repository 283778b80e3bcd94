package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.cache.CacheOutcome;
import dev.isthmus.gateway.cache.ResponseCache;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.RoutePolicies;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.StreamSelections;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.gateway.shadow.ShadowCopies;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One inference on its route, put into its exchange by {@link Routing}: chooses its target, and has what the layers of
 * the route's policies keep of it.
 */
final class RoutedCall {
    private static final Slot<RoutedCall> SLOT = new Slot<>();

    private final Exchange exchange;
    private final Route route;
    private final ModelRef model;
    private final RoutePolicies policies;
    private final AccessPolicy access;
    private @Nullable Target target;
    private @Nullable ShadowCopies copies;
    private boolean copying;

    RoutedCall(Exchange exchange, Route route, ModelRef model, RoutePolicies policies, AccessPolicy access) {
        this.exchange = exchange;
        this.route = route;
        this.model = model;
        this.policies = policies;
        this.access = access;
        exchange.put(SLOT, this);
    }

    /** That of an exchange; null if it is none of an inference. */
    static @Nullable RoutedCall in(Exchange exchange) {
        return exchange.get(SLOT);
    }

    /** That of an inference. */
    static RoutedCall of(Exchange exchange) {
        return Objects.requireNonNull(exchange.get(SLOT));
    }

    Route route() {
        return route;
    }

    RoutePolicies policies() {
        return policies;
    }

    /** The chosen target; not the fallback. */
    @Nullable
    Target target() {
        return target;
    }

    /** What an upstream supports for this caller. */
    ServerFeatures features(Upstream upstream) {
        ServerFeatures features = upstream.peer();
        return features.sharedMemory() && !access.allowsSharedMemory(exchange.context(), model)
                ? features.withoutSharedMemory()
                : features;
    }

    /** The cache to send it through; null for none. */
    @Nullable
    ResponseCache cache(Call call, Operation.Infer infer) {
        ResponseCache cache = policies.cache();
        if (cache == null || !(infer.stream() || call.sequence())) {
            return cache;
        }
        cache.count(infer.stream() ? CacheOutcome.STREAM : CacheOutcome.SEQUENCE, call.context());
        return null;
    }

    /** It passes in parts, and so without a cache. */
    void passing() {
        ResponseCache cache = policies.cache();
        if (cache != null) {
            cache.count(CacheOutcome.LARGE, exchange.context());
        }
    }

    /**
     * Chooses the target.
     *
     * @param stream the random choices of its stream so far; null for a request of its own
     * @throws OipException NOT_FOUND for a version that no target serves
     */
    TargetSelection selectTarget(RequestAttributes attributes, @Nullable StreamSelections stream) {
        TargetSelection selection = route.pick(model, attributes, stream);
        target = selection.target();
        if (selection.target().upstream().readsPriority()) {
            exchange.context().prioritized(attributes.priority());
        }
        exchange.targeted();
        sentTo(selection.target());
        return selection;
    }

    /** As {@link Upstream#passesFrom()}: requests that are looked up in a cache do not pass in parts. */
    long passesFrom(Upstream service) {
        ResponseCache cache = policies.cache();
        long otherwise = service.passesFrom();
        return cache == null ? otherwise : Math.max(otherwise, cache.config().maxRequest());
    }

    /** The target has failed, and the fallback takes over. */
    void failedOver(OipException failure, Target fallback) {
        exchange.endTarget(failure);
        target = null;
        sentTo(fallback);
    }

    private void sentTo(Target chosen) {
        exchange.context().sentTo(chosen.arm(), chosen.upstream().name(), chosen.model());
    }

    boolean failedOver() {
        return target == null;
    }

    /** Whether a failure is one of the server and not of the request, so that the fallback takes over. */
    static boolean fallsBack(Call call, OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !failure.isResponseDropped() && (!call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0);
            default -> false;
        };
    }

    /** Whether calls of the route may be copied, so that their requests must be kept. */
    boolean shadowed() {
        return policies.shadows() != Shadows.NONE;
    }

    /** The request was sent: its copies follow. */
    void sent(Call call, RequestSource source) {
        copying = true;
        copies = policies.shadows().begin(call, model, Objects.requireNonNull(target), source);
    }

    /** The request, which is of a kind that is never copied, is sent. */
    void sendingUncopied(Call call) {
        exchange.sending();
        if (shadowed()) {
            copies = policies.shadows().begin(call, model, Objects.requireNonNull(target), RequestSource.NONE);
        }
    }

    /** The copies were made, or will not be. */
    void copied() {
        copying = false;
    }

    /** Whether the request is still needed for its copies. */
    boolean copying() {
        return copying;
    }

    /** Whether the complete response is needed for comparison. */
    boolean compared() {
        return copies != null && copies.compares();
    }

    /** The target has responded (borrowed). */
    void responded(InferMessage response) {
        if (copies != null) {
            copies.responded(response);
        }
    }

    /** There is no response to compare with, or there was one. */
    void endCopies() {
        if (copies != null) {
            copies.ended();
        }
    }
}
