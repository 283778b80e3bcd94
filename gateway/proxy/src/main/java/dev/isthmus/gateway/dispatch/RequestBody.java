package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Gathers an inference request from one client wire, and produces it for any number of servers, each in its own form.
 * Holds its buffers until {@link #release()}.
 */
interface RequestBody {

    /**
     * A request in the form of one server.
     *
     * @param message on the server's wire, owned by the receiver
     * @param form the form in which the client wants the server's response
     */
    record UpstreamMessage(InferMessage message, ResponseForm form) {}

    /**
     * Adds the next part.
     *
     * @param chunk taken
     * @throws dev.isthmus.oip.OipException if the request violates the protocol
     */
    void add(ByteBuf chunk);

    /**
     * The body is complete.
     *
     * @throws dev.isthmus.oip.OipException if the request violates the protocol or is not complete
     */
    void end();

    /**
     * The request as one that need not be gathered. Called after each part until it returns one; once that is started,
     * {@link #prepare} is not called any more.
     *
     * @return null until the head is complete and valid, and always if the request must be gathered
     */
    default @Nullable StreamedRequest streamed() {
        return null;
    }

    /** The request's parameters; known after {@link #end()}, and as soon as {@link #streamed()} returns a request. */
    Map<String, Parameter> parameters();

    /** The request's id; known when its parameters are. */
    String id();

    /** Whether the message depends on the model's metadata, so that {@link #describe} must precede {@link #prepare}. */
    default boolean needsMetadata() {
        return false;
    }

    /** Sets the model's metadata. */
    default void describe(ModelMetadata metadata) {}

    /**
     * Produces the request for a server, without copying what the body holds.
     *
     * @param model the model to request from the server
     * @param shown receives the request's outline before anything else, and may refuse it; null for nobody
     * @throws dev.isthmus.oip.OipException if the request cannot be expressed for the server
     */
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> shown);

    /**
     * Decodes the request, for layers that change it. Until {@link #release()} it shares what the body holds.
     *
     * @param peer the server that it is meant for
     * @param model the model to request from the server
     * @throws dev.isthmus.oip.OipException if it is invalid, or cannot be expressed for the server
     */
    DecodedBody decode(ServerFeatures peer, ModelRef model);

    /** Bytes of memory held until the body ends; for a request that is forwarded in parts, those that wait. */
    long held();

    /** Releases everything. Idempotent. */
    void release();
}
