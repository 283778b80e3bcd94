package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.limit.RateLimits;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.Attributes;
import dev.isthmus.gateway.routing.Pick;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.shadow.Observation;
import dev.isthmus.gateway.shadow.RequestSource;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import org.jspecify.annotations.Nullable;

/** One inference as one of its route's: counted on its limits, copied to its shadows, watched by its ramp. */
final class RouteCall {
    private final Route route;
    private final ModelRef asked;
    private final Traffic traffic;
    private final Traffic.Of of;
    private final RateLimits.@Nullable Charge charge;
    private Observation observation = Observation.NONE;
    private long bytes;
    private String arm = "";
    private boolean copying;
    private long sentAt;

    /** @throws OipException RESOURCE_EXHAUSTED where a limit is used up */
    RouteCall(Call call, Route route, ModelRef asked, Traffic traffic) {
        this.route = route;
        this.asked = asked;
        this.traffic = traffic;
        this.of = traffic.of(route);
        RateLimits limits = of.limits();
        this.charge = limits == null ? null : limits.request(call.client()::value);
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

    Pick pick(Attributes attributes) {
        Pick pick = route.pick(asked, attributes);
        arm = pick.target().arm();
        return pick;
    }

    /** The request goes out, or its last part: a ramp does not count how long a client takes to send it. */
    void sending() {
        sentAt = of.ramped() ? traffic.nanoTime().getAsLong() : 0;
    }

    /** The request has gone out; its copies follow. */
    void sent(Call call, RequestSource source) {
        copying = true;
        observation = of.shadows().begin(call, asked, source);
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

    /** The client has gone. */
    void cancelled() {
        observation.ended();
    }

    private void record(@Nullable OipException failure) {
        if (of.ramped() && !arm.isEmpty() && sentAt != 0) {
            boolean failed = failure != null && Ramps.counts(failure.code());
            traffic.ramps().record(route.key(), arm, failed, traffic.nanoTime().getAsLong() - sentAt);
        }
    }
}
