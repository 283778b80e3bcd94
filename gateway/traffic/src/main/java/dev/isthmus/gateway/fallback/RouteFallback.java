package dev.isthmus.gateway.fallback;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The fallback of a route. It takes a request over if the target fails before responding, with a failure of the server,
 * or has not responded after three quarters of the call's time. A request of a sequence stays with its target, which has
 * its state.
 */
public record RouteFallback(Route route) implements RouteService {
    @Override
    public String name() {
        return "fallback";
    }

    /** Requests are kept, so that none passes in parts. */
    @Override
    public long passesFrom(long inner) {
        return Long.MAX_VALUE;
    }

    @Override
    public Subscription send(Upstream inner, Call call, UpstreamRequest request, Reply reply) {
        Target next = of(route, call);
        UpstreamRequest second = next == null ? null : request.to(next.upstream(), next.model());
        return next == null || second == null
                ? inner.send(call, request, reply)
                : new FallbackCall(call, next, second, reply).start(inner, request);
    }

    @Override
    public UpstreamStream inferStream(Upstream inner, Call call, ModelRef model, Reply reply) {
        return call.sequence()
                ? inner.inferStream(call, model, reply)
                : new FallbackStream(route, call, reply).open(inner, model);
    }

    @Override
    public boolean servesFallback() {
        return false;
    }

    /** The fallback for a request; null if there is none. */
    static @Nullable Target of(Route route, Call call) {
        ModelRef requested = call.operation().requestedModel();
        return requested == null || call.sequence() ? null : route.fallback(requested);
    }

    /** Whether a failure is one of the server and not of the request, and there is time left. */
    static boolean takesOver(Call call, OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !failure.isResponseDropped() && (!call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0);
            default -> false;
        };
    }

    /**
     * Starts the target's share of the time.
     *
     * @param late receives the failure when it is over
     * @return null if the call has no deadline
     */
    static @Nullable Future<?> share(Call call, String upstream, Consumer<OipException> late) {
        if (!call.hasDeadline()) {
            return null;
        }
        long left = call.deadlineNanos() - System.nanoTime();
        long nanos = left - left / 4;
        OipException failure = new UpstreamFailures(upstream, () -> false).timedOut(nanos, null);
        return call.loop().schedule(() -> late.accept(failure), nanos, TimeUnit.NANOSECONDS);
    }

    /** Sends a request to the fallback. */
    static Subscription sendTo(Target fallback, Call call, UpstreamRequest request, Reply reply) {
        call.context().sentTo(fallback.arm(), fallback.upstream().name(), fallback.model());
        return fallback.service().send(call, request, reply);
    }
}
