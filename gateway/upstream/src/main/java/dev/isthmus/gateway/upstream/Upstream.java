package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A server behind the gateway, or the local backend. Methods are called on the call's event loop, and so are the
 * reply's callbacks. Failures are reported to the reply, never thrown. The upstream enforces the call's deadline.
 */
public interface Upstream extends AutoCloseable {
    /** The configured name. */
    String name();

    /** The extensions that the server reports, or that its dialect is known to have; empty while unknown. */
    default List<String> extensions() {
        return List.of();
    }

    /** The server's features, as far as they are known. {@link #infer} accepts and returns messages on its wire. */
    ServerFeatures peer();

    /**
     * Sends an inference request; the reply receives one {@code ReplyMessage.Inference} on the peer's wire.
     *
     * @param model the model and version to request from this upstream
     * @param message on the peer's wire, taken
     */
    Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply);

    /**
     * Requests whose encoded message is larger than this may be sent in parts, with {@link #inferParts}: smaller ones
     * are kept for a retry, or are not worth it. {@link Long#MAX_VALUE} if no request may be sent in parts.
     */
    default long passesFrom() {
        return Long.MAX_VALUE;
    }

    /**
     * Opens an inference whose encoded ModelInferRequest is written to the sink in parts; the reply receives the same
     * messages as that of {@link #infer}. Only if {@link #passesFrom()} is not {@link Long#MAX_VALUE} and the peer's
     * wire is protobuf.
     *
     * <p>Nothing may be written to the sink before it is ready: {@link Reply#onReady()} reports that, possibly before
     * this returns. Until the first part is written, the call may be retried on another server; after that it never is.
     * The caller ends the request with the sink's {@code end()} after the last byte: the end of a message of any other
     * length is never sent to the server. The call's timeout starts here.
     *
     * @param model the model and version to request from this upstream, as named in the message
     * @param length of the message in bytes
     */
    default RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        reply.fail(failure(ErrorCode.INTERNAL, "does not support requests in parts"));
        return RequestSink.ENDED;
    }

    /**
     * As {@link #infer}, but the reply receives any number of responses as they arrive; one if the server cannot
     * stream.
     */
    default Subscription inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        return infer(call, model, message, reply);
    }

    /**
     * Identifies the server that serves calls of this affinity now: calls for which it is equal may share a stream. For
     * a call without affinity it is this upstream, whichever of its servers is chosen.
     */
    default Object server(Call call, ModelRef model) {
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
     * Sends a request of the generate extension; the reply receives one {@code ReplyMessage.Document}, or {@code
     * ReplyMessage.Events} for a stream.
     *
     * @param body JSON, taken
     */
    default Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        body.release();
        reply.fail(failure(ErrorCode.UNIMPLEMENTED, "is not called over REST, which the generate extension requires"));
        return Subscription.NONE;
    }

    /**
     * Sends a request of a management extension; the reply receives one {@code ReplyMessage.Document}.
     *
     * @param manage its {@code json} is whether the peer's wire is REST
     * @param body JSON or a protobuf message, taken
     */
    default Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        body.release();
        reply.fail(failure(ErrorCode.UNIMPLEMENTED, "does not serve " + manage.extension()));
        return Subscription.NONE;
    }

    /** The reply receives one {@code ReplyMessage.Ready}: whether the server is ready. */
    Subscription serverReady(Call call, Reply reply);

    /** The reply receives one {@code ReplyMessage.Server}. */
    Subscription serverMetadata(Call call, Reply reply);

    /** The reply receives one {@code ReplyMessage.ModelReadyState}; a model unknown to the server is not ready. */
    Subscription modelReady(Call call, ModelRef model, Reply reply);

    /** The reply receives one {@code ReplyMessage.Model}, or NOT_FOUND. */
    Subscription modelMetadata(Call call, ModelRef model, Reply reply);

    /**
     * Requests the names of the server's models, for servers that have such a list but no repository index; the reply
     * receives one {@code ReplyMessage.Document}: KServe's {@code {"models": [...]}}.
     */
    default Subscription modelNames(Call call, Reply reply) {
        reply.fail(failure(ErrorCode.UNIMPLEMENTED, "does not support listing its models"));
        return Subscription.NONE;
    }

    /** The connections to the server; null if it needs none. */
    default @Nullable ConnectionCounts connections() {
        return null;
    }

    /** Closes connections; calls in flight fail with UNAVAILABLE. */
    @Override
    void close();

    private OipException failure(ErrorCode code, String what) {
        return new OipException(code, "upstream '" + name() + "' " + what).confidential();
    }
}
