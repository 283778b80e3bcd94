package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.cache.CacheableRequest;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.InferRequest;
import java.util.function.Supplier;

/** The request of an inference as one that may get the response to an equal one. */
record LookedUpRequest(Call call, Exchange exchange, InferRequest decoded, Supplier<UpstreamRequest> sent)
        implements CacheableRequest {

    @Override
    public UpstreamRequest encoded() {
        return sent.get();
    }

    /** Its end says nothing about its target. */
    @Override
    public void notSent() {
        exchange.excuseTarget();
    }
}
