package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Set;

/**
 * What a route does with an inference: answer it, change it, send it twice, later, or elsewhere. A route has a list of
 * them, each around the next one and the last around the target's upstream. Thread-safe.
 */
public interface RouteService extends AutoCloseable {
    /**
     * Sends a request to what is behind the service, as {@link Upstream#send}.
     *
     * @param request taken
     */
    Subscription send(Upstream inner, Call call, UpstreamRequest request, Reply reply);

    /** Opens a stream to what is behind the service, as {@link Upstream#inferStream}. */
    default UpstreamStream inferStream(Upstream inner, Call call, ModelRef model, Reply reply) {
        return inner.inferStream(call, model, reply);
    }

    /**
     * As {@link Upstream#passesFrom()}.
     *
     * @param inner that of what is behind the service
     */
    default long passesFrom(long inner) {
        return inner;
    }

    /** Whether it decodes unary inferences, whichever server gets them. */
    default boolean decodes() {
        return false;
    }

    /** Whether it serves the calls that the route's fallback takes over, too. */
    default boolean servesFallback() {
        return true;
    }

    /** The service in front of this. Called for each upstream of a configuration, never for a call. */
    default Upstream around(Upstream inner) {
        return new ServedUpstream(this, inner);
    }

    /** Models of these upstreams were loaded or have changed. */
    default void modelsChanged(Set<Upstream> upstreams) {}

    /** Calls under way continue. */
    @Override
    default void close() {}

    /**
     * A service in front of an upstream, for inferences only.
     *
     * @param inner not closed with this
     */
    record ServedUpstream(RouteService service, Upstream inner) implements Upstream {
        @Override
        public String name() {
            return inner.name();
        }

        @Override
        public ServerFeatures peer() {
            return inner.peer();
        }

        @Override
        public Subscription send(Call call, UpstreamRequest request, Reply reply) {
            return service.send(inner, call, request, reply);
        }

        @Override
        public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
            return service.inferStream(inner, call, model, reply);
        }

        @Override
        public long passesFrom() {
            return service.passesFrom(inner.passesFrom());
        }

        @Override
        public void close() {}
    }
}
