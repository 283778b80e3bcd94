package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What serves calls: a server behind the gateway, all servers of one configured name, or the local backend. Methods
 * are called on the call's event loop, and so are the reply's callbacks. Failures are reported to the reply, never
 * thrown. The upstream enforces the call's deadline.
 */
public interface Upstream extends AutoCloseable {
    /** The configured name. */
    String name();

    /** The extensions that the server reports, or that its dialect is known to have; empty while unknown. */
    default List<String> extensions() {
        ServerCapabilities known = capabilities();
        return known == null ? List.of() : known.extensions();
    }

    /** The server's features, as far as they are known. Inference messages are on its wire, both ways. */
    ServerFeatures peer();

    /**
     * Sends a request; what the reply receives is said at each kind of request.
     *
     * @param request taken
     */
    Subscription send(Call call, UpstreamRequest request, Reply reply);

    /**
     * Requests whose encoded message is larger than this may be sent in parts, as {@link UpstreamRequest.InferenceInParts}: smaller ones are
     * kept for a retry, or are not worth it. {@link Long#MAX_VALUE} if no request may be sent in parts.
     */
    default long passesFrom() {
        return Long.MAX_VALUE;
    }

    /**
     * The server that serves calls of this affinity now: calls with the same one may share a stream. For a call without
     * affinity it is this upstream, whichever of its servers is chosen. For comparison only: calls go to this upstream.
     */
    default Upstream server(Call call, ModelRef model) {
        return this;
    }

    /**
     * Opens a stream of requests to one model.
     *
     * @param model named by the requests; a server is chosen by it
     */
    default UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        return new UnaryStream(this, call, reply);
    }

    /**
     * Sets the headers that the gateway sends from now on with each request, in place of a client's of the same names.
     *
     * @param headers by lower-case name
     */
    default void ownHeaders(Map<String, SecretText> headers) {}

    /** Whether the order of waiting calls depends on the priority that a call's context has. */
    default boolean readsPriority() {
        return false;
    }

    /** What is known of the servers of the upstream; null if nothing needs to be learned of it. */
    default @Nullable ServerCapabilities capabilities() {
        return null;
    }

    /** The connections to the server; null if it needs none. */
    default @Nullable ConnectionCounts connections() {
        return null;
    }

    /** Closes connections; calls in flight fail with UNAVAILABLE. */
    @Override
    void close();

    /**
     * The failure of a request of a kind that the upstream does not serve.
     *
     * @param what follows the upstream's name in the message
     */
    default OipException unsupported(String what) {
        return new OipException(ErrorCode.UNIMPLEMENTED, "upstream '" + name() + "' " + what).confidential();
    }

    /**
     * Fails a request that was not sent.
     *
     * @param request taken
     */
    static Subscription refuse(UpstreamRequest request, OipException failure, Reply reply) {
        request.release();
        reply.fail(failure);
        return Subscription.NONE;
    }
}
