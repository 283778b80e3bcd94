package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.limit.RateLimits;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.StreamSelections;
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
 * One inference on its route, and the reply to its client. It applies the route's policies: counts the inference on the
 * rate limits, chooses its target, copies it to the shadows, reports its end to the target's meters and to the ramp.
 *
 * <p>Every kind of inference passes it in both directions: no flow reaches a target but through {@link #selectTarget},
 * and a flow that answers its client through this reply has reported the end of the inference.
 */
final class RouteCall extends ForwardingReply {
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
    /** Until its outcome is reported, or the fallback takes over. */
    private @Nullable Target target;
    /** Of a request whose response has begun. */
    private @Nullable OipException errorInResponse;

    private boolean copying;

    /**
     * Counts the call; whether it is admitted may be {@link #undecided()}.
     *
     * @param client receives what the flow replies here
     * @throws OipException RESOURCE_EXHAUSTED if a limit is exceeded
     */
    RouteCall(
            Call call,
            Route route,
            ModelRef model,
            RoutePolicyTable policies,
            Authorization.CallRules access,
            Reply client) {
        super(client);
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
    void bodyComplete() {
        if (charge != null) {
            charge.body(bytes);
        }
    }

    /**
     * Chooses the target.
     *
     * @throws OipException NOT_FOUND for a version that no target serves
     */
    TargetSelection selectTarget(RequestAttributes attributes) {
        return selectTarget(attributes, null);
    }

    /** @param stream the random choices of its stream so far; null for a request of its own */
    TargetSelection selectTarget(RequestAttributes attributes, @Nullable StreamSelections stream) {
        TargetSelection selection = route.pick(model, attributes, stream);
        target = selection.target();
        sentTo(selection.target());
        return selection;
    }

    /** Whether a failure is one of the server and not of the request, so that the fallback takes over. */
    static boolean fallsBack(Call call, OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !failure.isResponseDropped() && (!call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0);
            default -> false;
        };
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

    /** The request, which is of a kind that is never copied, is sent. */
    void sendingUncopied(Call call) {
        sending();
        if (shadowed()) {
            observation =
                    routePolicies.shadows().begin(call, model, Objects.requireNonNull(target), RequestSource.NONE);
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
    void failedOver(OipException failure, Target fallback) {
        ended(failure);
        sentTo(fallback);
    }

    private void sentTo(Target chosen) {
        call.sentTo(chosen.arm(), chosen.upstream().name(), chosen.model());
    }

    boolean failedOver() {
        return target == null;
    }

    /** The response says that the request failed, after it has begun; only the first error counts. */
    void failsInResponse(OipException failure) {
        errorInResponse = errorInResponse == null ? failure : errorInResponse;
    }

    @Override
    public void message(ReplyMessage message) {
        responseStarted();
        if (message instanceof ReplyMessage.StreamError error) {
            failsInResponse(error.failure());
        }
        super.message(message);
    }

    @Override
    public void complete() {
        ended(errorInResponse);
        super.complete();
    }

    @Override
    public void fail(OipException failure) {
        fail(failure, false);
    }

    /**
     * The call has failed without a fallback.
     *
     * @param sends whether the client has not sent all of its request, so that the elapsed time is its own; likewise if
     *     it does not read the pending response
     */
    void fail(OipException failure, boolean sends) {
        boolean unread = time != null && time.isKnown() && !isReady();
        if ((sends || unread) && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            cancelled();
        } else {
            ended(failure);
        }
        super.fail(failure);
    }

    /** The client disconnected: nothing is reported, unless the request had failed already. */
    void cancelled() {
        if (errorInResponse == null) {
            target = null;
        }
        ended(errorInResponse);
    }

    private void ended(@Nullable OipException failure) {
        if (target != null) {
            record(target.arm(), failure);
            target = null;
        }
        observation.ended();
    }

    private void record(String arm, @Nullable OipException failure) {
        TargetMeters meters = routePolicies.targets();
        TargetMeters.TargetMeter meter = meters == null ? null : meters.of(arm);
        if (meter != null) {
            meter.ended(failure == null ? null : failure.code());
        }
        if (time == null) {
            return;
        }
        time.responded();
        if (time.isKnown()) {
            boolean failed = failure != null && Ramps.counts(failure.code());
            if (meter != null && !failed) {
                meter.responded(time.nanos());
            }
            policies.ramps().record(route.key(), arm, failed, time.nanos());
        }
    }
}
