package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.limit.RateLimits;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.routing.TargetSelection;
import dev.isthmus.gateway.shadow.PrimaryCallObserver;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Applies a route's policies to one inference: counts it on the rate limits, copies it to the shadows, reports it to
 * the ramp.
 */
final class RouteCall {
    private final Route route;
    private final ModelRef model;
    private final CallContext call;
    private final RoutePolicyTable policies;
    private final Authorization.CallRules access;
    private final RoutePolicyTable.RoutePolicies routePolicies;
    private final RateLimits.@Nullable Charge charge;
    /** Set if the route has a ramp. */
    private final @Nullable ResponseTimer time;

    private PrimaryCallObserver observation = PrimaryCallObserver.NONE;
    private long bytes;
    private String arm = "";
    private @Nullable Target target;
    private boolean copying;

    /**
     * Counts the call; whether it is admitted may be {@link #undecided()}.
     *
     * @throws OipException RESOURCE_EXHAUSTED if a limit is exceeded
     */
    RouteCall(Call call, Route route, ModelRef model, RoutePolicyTable policies, Authorization.CallRules access) {
        this.route = route;
        this.model = model;
        this.call = call.context();
        this.policies = policies;
        this.access = access;
        this.routePolicies = policies.of(route);
        RateLimits limits = routePolicies.limits();
        this.charge = limits == null
                ? null
                : limits.request(
                        call.client()::value, call.context().principal().name());
        this.time = routePolicies.ramped() ? new ResponseTimer(policies.nanoTime()) : null;
    }

    Route route() {
        return route;
    }

    /** As {@link RateLimits.Charge#undecided()}. */
    @Nullable
    CompletableFuture<Boolean> undecided() {
        return charge == null ? null : charge.undecided();
    }

    /** What an upstream supports for this caller. */
    ServerFeatures features(Upstream upstream) {
        ServerFeatures features = upstream.peer();
        return features.sharedMemory() && !access.policy().allowsSharedMemory(call, model)
                ? features.withoutSharedMemory()
                : features;
    }

    /** Counts a part of the body. */
    void received(int length) {
        bytes += length;
    }

    /**
     * The request may be sent before its body, which will have this length, is complete.
     *
     * @throws OipException RESOURCE_EXHAUSTED if a limit is exceeded
     */
    void expects(long length) {
        if (charge != null) {
            charge.body(length);
        }
    }

    /** Counts the complete body, unless its length was counted before. */
    void complete() {
        if (charge != null) {
            charge.body(bytes);
        }
    }

    TargetSelection selectTarget(RequestAttributes attributes) {
        TargetSelection selection = route.pick(model, attributes);
        target = selection.target();
        arm = target.arm();
        call.sentTo(target.upstream().name(), target.model());
        return selection;
    }

    /** The last part of a request is sent: the time that its client took to send it is not the target's. */
    void sendingLast() {
        if (time != null && !time.isKnown()) {
            time.sending();
        }
    }

    /** The request is sent. */
    void sending() {
        if (time != null) {
            time.sending();
        }
    }

    /** The request was sent: its copies follow. */
    void sent(Call call, RequestSource source) {
        copying = true;
        observation = routePolicies.shadows().begin(call, model, Objects.requireNonNull(target), source);
    }

    /** The copies were made, or will not be. */
    void copied() {
        copying = false;
    }

    /** Whether calls of the route may be copied, so that their requests must be kept. */
    boolean shadowed() {
        return routePolicies.shadows().any();
    }

    /** Whether the request is still needed for its copies. */
    boolean copying() {
        return copying;
    }

    /** Whether the complete response is needed for comparison. */
    boolean compared() {
        return observation.compares();
    }

    /** The response starts to be forwarded: from here on its duration depends on the client. */
    void responseStarted() {
        if (time != null) {
            time.responded();
        }
    }

    /** The first target has responded (borrowed). */
    void responded(InferMessage response) {
        observation.responded(response);
    }

    /** The first target failed, and the fallback takes over. */
    void failedOver(OipException failure) {
        record(failure);
        observation.ended();
        arm = "";
    }

    boolean failedOver() {
        return arm.isEmpty();
    }

    /** The call has ended. */
    void ended(@Nullable OipException failure) {
        record(failure);
        observation.ended();
    }

    /**
     * The call has failed without a fallback.
     *
     * @param sends whether the client has not sent all of its request, so that the elapsed time is its own
     * @param waiting whether the client does not read the pending response: likewise
     */
    void failed(OipException failure, boolean sends, boolean waiting) {
        boolean passing = time != null && time.isKnown();
        if ((sends || (waiting && passing)) && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            cancelled();
        } else {
            ended(failure);
        }
    }

    /** The client disconnected. */
    void cancelled() {
        observation.ended();
    }

    private void record(@Nullable OipException failure) {
        TargetMeters.TargetMeter target = arm.isEmpty() || routePolicies.targets() == null
                ? null
                : routePolicies.targets().of(arm);
        if (target != null) {
            target.ended(failure == null ? null : failure.code());
        }
        if (time == null || arm.isEmpty()) {
            return;
        }
        time.responded();
        if (time.isKnown()) {
            boolean failed = failure != null && Ramps.counts(failure.code());
            if (target != null && !failed) {
                target.responded(time.nanos());
            }
            policies.ramps().record(route.key(), arm, failed, time.nanos());
        }
    }
}
