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
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One inference as one of its route's: counted on its limits, copied to its shadows, watched by its ramp. */
final class RouteCall {
    private final Route route;
    private final ModelRef asked;
    private final CallContext call;
    private final RoutePolicyTable traffic;
    private final RoutePolicyTable.RoutePolicies of;
    private final RateLimits.@Nullable Charge charge;
    /** Where a ramp wants to know. */
    private final @Nullable ResponseTimer time;

    private PrimaryCallObserver observation = PrimaryCallObserver.NONE;
    private long bytes;
    private String arm = "";
    private @Nullable Target target;
    private boolean copying;

    /** @throws OipException RESOURCE_EXHAUSTED where a limit is used up */
    RouteCall(Call call, Route route, ModelRef asked, RoutePolicyTable traffic) {
        this.route = route;
        this.asked = asked;
        this.call = call.context();
        this.traffic = traffic;
        this.of = traffic.of(route);
        RateLimits limits = of.limits();
        this.charge = limits == null ? null : limits.request(call.client()::value);
        this.time = of.ramped() ? new ResponseTimer(traffic.nanoTime()) : null;
    }

    Route route() {
        return route;
    }

    /** A part of the body. */
    void received(int length) {
        bytes += length;
    }

    /**
     * The request may go out before its body is complete, which will have this length.
     *
     * @throws OipException RESOURCE_EXHAUSTED where a limit is used up
     */
    void expects(long length) {
        if (charge != null) {
            charge.body(length);
        }
    }

    /** The body is complete. */
    void complete() {
        if (charge != null) {
            charge.body(bytes);
        }
    }

    TargetSelection pick(RequestAttributes attributes) {
        TargetSelection pick = route.pick(asked, attributes);
        target = pick.target();
        arm = target.arm();
        call.sentTo(target.upstream().name(), target.model());
        return pick;
    }

    /** The last part of a request goes out: how long its client took to send it is not the target's time. */
    void sendingLast() {
        if (time != null && !time.known()) {
            time.sending();
        }
    }

    /** The request goes out. */
    void sending() {
        if (time != null) {
            time.sending();
        }
    }

    /** The request has gone out; its copies follow. */
    void sent(Call call, RequestSource source) {
        copying = true;
        observation = of.shadows().begin(call, asked, Objects.requireNonNull(target), source);
    }

    /** The copies were made, or never will be. */
    void copied() {
        copying = false;
    }

    /** Whether calls of the route may be copied, so that their requests must be kept. */
    boolean shadowed() {
        return of.shadows().any();
    }

    /** Whether the request is still needed for its copies. */
    boolean copying() {
        return copying;
    }

    /** Whether the answer is wanted whole, to be compared. */
    boolean compared() {
        return observation.compares();
    }

    /** The answer begins to be passed on: from here on it takes as long as the client takes. */
    void answering() {
        if (time != null) {
            time.answered();
        }
    }

    /** The first target has answered; borrowed. */
    void answered(InferMessage answer) {
        observation.answered(answer);
    }

    /** The first target has failed, and another one takes over. */
    void takenOver(OipException failure) {
        record(failure);
        observation.ended();
        arm = "";
    }

    boolean takenOver() {
        return arm.isEmpty();
    }

    /** The call has ended. */
    void ended(@Nullable OipException failure) {
        record(failure);
        observation.ended();
    }

    /**
     * The call has failed for good.
     *
     * @param sends whether the client is still to send of its request: then the time that has passed is its own
     * @param waiting whether the client does not take what there is of an answer: the same
     */
    void failed(OipException failure, boolean sends, boolean waiting) {
        boolean passing = time != null && time.known();
        if ((sends || (waiting && passing)) && failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
            cancelled();
        } else {
            ended(failure);
        }
    }

    /** The client has gone. */
    void cancelled() {
        observation.ended();
    }

    private void record(@Nullable OipException failure) {
        TargetMeters.TargetMeter target =
                arm.isEmpty() || of.targets() == null ? null : of.targets().of(arm);
        if (target != null) {
            target.ended(failure == null ? null : failure.code());
        }
        if (time == null || arm.isEmpty()) {
            return;
        }
        time.answered();
        if (time.known()) {
            boolean failed = failure != null && Ramps.counts(failure.code());
            if (target != null && !failed) {
                target.answered(time.nanos());
            }
            traffic.ramps().record(route.key(), arm, failed, time.nanos());
        }
    }
}
