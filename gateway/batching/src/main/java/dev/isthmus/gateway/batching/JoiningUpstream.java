package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.ForwardingUpstream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;

/** An upstream whose inferences are joined with others of the route. */
final class JoiningUpstream extends ForwardingUpstream {
    private final RouteBatching batching;

    JoiningUpstream(RouteBatching batching, Upstream upstream) {
        super(upstream);
        this.batching = batching;
    }

    /** Requests that may be joined with others do not pass in parts. */
    @Override
    public long passesFrom() {
        return Math.max(inner().passesFrom(), batching.maxBytes());
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        return request instanceof InferenceRequest inference
                ? batching.send(inner(), call, inference, reply)
                : inner().send(call, request, reply);
    }
}
