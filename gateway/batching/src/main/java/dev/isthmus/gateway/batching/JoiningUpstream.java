package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.transcoder.message.ServerFeatures;

/**
 * An upstream whose inferences are joined with others of the route.
 *
 * @param upstream not closed with this
 */
public record JoiningUpstream(RouteBatching batching, Upstream upstream) implements Upstream {
    @Override
    public String name() {
        return upstream.name();
    }

    @Override
    public ServerFeatures peer() {
        return upstream.peer();
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        return request instanceof InferenceRequest inference
                ? batching.send(upstream, call, inference, reply)
                : upstream.send(call, request, reply);
    }

    @Override
    public void close() {}
}
