package dev.isthmus.gateway.cache;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.InferRequest;

/** A request that may get a response without being sent. Used on the event loop of its call. */
public interface CacheableRequest {

    Call call();

    /** The request with the model and version of its target; borrowed until {@link #encoded()} or the response. */
    InferRequest decoded();

    /**
     * The request for its target's server, owned by the caller, who is about to send it.
     *
     * @throws dev.isthmus.oip.OipException if it cannot be expressed for the server
     */
    UpstreamRequest encoded();

    /** It gets a response that its target has sent to another request, or will; called before the response. */
    void notSent();
}
