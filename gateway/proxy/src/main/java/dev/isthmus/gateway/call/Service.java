package dev.isthmus.gateway.call;

import dev.isthmus.oip.OipException;

/**
 * What takes calls: a layer of the gateway, which hands them to the next one, or the end of the stack.
 *
 * <p>A reply may end before {@link #open} returns: whoever opens a call must expect that.
 */
@FunctionalInterface
public interface Service {

    /** Begins a call. Failures, also immediate ones, arrive at the reply; the sink may be fed in any case. */
    RequestSink open(Call call, Reply reply);

    /** Takes a request that is refused before it is a call, so that it is counted like one: its reply fails. */
    default void reject(CallContext call, OipException refusal, Reply reply) {
        reply.fail(refusal);
    }
}
