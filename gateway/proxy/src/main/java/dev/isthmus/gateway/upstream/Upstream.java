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

/**
 * A server behind the gateway, or the local backend. Calls happen on the call's event loop, and so do the reply's
 * callbacks. Every failure arrives at the reply; nothing is thrown. The call's deadline is kept here.
 */
public interface Upstream extends AutoCloseable {
    /** The name from the configuration. */
    String name();

    /** The extensions that the server says it has, or that its dialect is known to have; empty while nothing is known. */
    default List<String> extensions() {
        return List.of();
    }

    /** What the server understands, as far as it is known now. {@link #infer} takes and answers on its wire. */
    ServerFeatures peer();

    /**
     * Sends an inference request; the reply gets one {@code ReplyMessage.Inference} on the peer's wire.
     *
     * @param model the model and version to ask this upstream for
     * @param message on the peer's wire, taken
     */
    Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply);

    /**
     * Requests whose encoded message is larger may be sent in parts, by {@link #inferParts}: smaller ones are kept for another
     * try, or are not worth it. {@link Long#MAX_VALUE} where no request may.
     */
    default long passesFrom() {
        return Long.MAX_VALUE;
    }

    /**
     * Opens an inference whose encoded ModelInferRequest is given to the sink in parts; the reply gets what that of
     * {@link #infer} gets. Only where {@link #passesFrom()} is not {@link Long#MAX_VALUE}, and the peer's wire is protobuf.
     *
     * <p>Nothing may be given to the sink before it is writable: {@link Reply#onReady()} says when it is, be it before this
     * returns. Until then the call may be tried at another server; once a part was given it never is. The request ends with the
     * sink's {@code end()}, which is for the caller to call after the last byte: a server is never told the end of a message of
     * another length. The call's time counts from here.
     *
     * @param model the model and version to ask this upstream for, as the message does
     * @param length of the message in bytes
     */
    default RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        reply.fail(unable(ErrorCode.INTERNAL, "is not known to take requests in parts"));
        return RequestSink.ENDED;
    }

    /** As {@link #infer}, but the reply gets any number of answers, as they come; one where the server cannot stream. */
    default Subscription inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        return infer(call, model, message, reply);
    }

    /**
     * What stands for the server that a call of this affinity goes to now: calls with equal ones may share a stream. For a
     * call without affinity it is this upstream, whichever of its servers takes it.
     */
    default Object server(Call call, ModelRef model) {
        return this;
    }

    /**
     * Opens a stream of requests to one model and of their answers.
     *
     * @param model the one that its requests name, by which a server is chosen
     */
    default UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        return new UnaryStream(this, call, reply);
    }

    /**
     * Asks the generate extension; the reply gets one {@code ReplyMessage.Document}, or {@code ReplyMessage.Events} for a stream.
     *
     * @param body JSON, taken
     */
    default Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        body.release();
        reply.fail(unable(
                ErrorCode.UNIMPLEMENTED,
                "is not spoken to in REST, and the generate extension is known over REST only"));
        return Subscription.NONE;
    }

    /**
     * Asks a management extension; the reply gets one {@code ReplyMessage.Document}.
     *
     * @param manage its {@code json} is whether the peer's wire is REST
     * @param body JSON or a protobuf message, taken
     */
    default Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        body.release();
        reply.fail(unable(ErrorCode.UNIMPLEMENTED, "does not serve " + manage.extension()));
        return Subscription.NONE;
    }

    /** The reply gets one {@code ReplyMessage.Ready}: whether the server is ready. */
    Subscription serverReady(Call call, Reply reply);

    /** The reply gets one {@code ReplyMessage.Server}. */
    Subscription serverMetadata(Call call, Reply reply);

    /** The reply gets one {@code ReplyMessage.ModelReadyState}; a model unknown to the server is not ready. */
    Subscription modelReady(Call call, ModelRef model, Reply reply);

    /** The reply gets one {@code ReplyMessage.Model}, or NOT_FOUND. */
    Subscription modelMetadata(Call call, ModelRef model, Reply reply);

    /**
     * Asks for the names of the server's models where it has no repository index but such a list; the reply gets one
     * {@code ReplyMessage.Document}: KServe's {@code {"models": [...]}}.
     */
    default Subscription modelNames(Call call, Reply reply) {
        reply.fail(unable(ErrorCode.UNIMPLEMENTED, "is not known to list its models"));
        return Subscription.NONE;
    }

    /** Closes connections; calls under way fail with UNAVAILABLE. */
    @Override
    void close();

    private OipException unable(ErrorCode code, String what) {
        return new OipException(code, "upstream '" + name() + "' " + what).confidential();
    }
}
