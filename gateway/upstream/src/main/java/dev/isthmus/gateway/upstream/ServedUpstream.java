package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.ServerFeatures;

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
