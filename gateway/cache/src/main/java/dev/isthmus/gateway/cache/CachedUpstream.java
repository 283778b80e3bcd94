package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.ForwardingUpstream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;

/** An upstream whose responses are kept for equal requests. Messages of a stream are neither looked up nor counted. */
final class CachedUpstream extends ForwardingUpstream {
    private final ResponseCache cache;

    CachedUpstream(ResponseCache cache, Upstream inner) {
        super(inner);
        this.cache = cache;
    }

    /** Requests that are looked up do not pass in parts. */
    @Override
    public long passesFrom() {
        return Math.max(inner().passesFrom(), cache.config().maxRequest());
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        if (request instanceof UpstreamRequest.InferenceInParts) {
            cache.count(CacheOutcome.LARGE, call.context());
        } else if (request instanceof InferenceRequest inference) {
            if (!inference.events() && !call.sequence()) {
                return cache.send(call, inference, inner(), reply);
            }
            cache.count(inference.events() ? CacheOutcome.STREAM : CacheOutcome.SEQUENCE, call.context());
        }
        return inner().send(call, request, reply);
    }
}
