package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.OipException;

/**
 * A receiver of calls: the {@link Layers} with what is behind them, or a part of that.
 *
 * <p>A reply may end before {@link #open} returns, and the sink is then without effect: it releases what it receives.
 */
@FunctionalInterface
public interface Service {

    /**
     * Starts a call. All failures, including immediate ones, are reported to the reply; the sink may be used in any
     * case.
     */
    RequestSink open(Call call, Reply reply);

    /**
     * Checks a request by its head, before its body is read. The operation is checked again when it is known; health
     * requests are checked only then.
     *
     * @param permission what the request needs
     * @throws dev.isthmus.oip.OipException UNAUTHENTICATED, PERMISSION_DENIED, or UNAVAILABLE if that cannot be decided
     */
    default void checkHead(CallContext call, Permission permission) {}

    /** Rejects a request before it becomes a call, so that it is counted like one: its reply fails. */
    default void reject(CallContext call, OipException refusal, Reply reply) {
        reply.fail(refusal);
    }
}
