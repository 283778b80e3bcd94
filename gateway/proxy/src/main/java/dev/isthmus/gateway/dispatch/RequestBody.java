package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gathers an inference request of one client wire, and gives it to any number of servers, each in its own form. Holds its
 * buffers until {@link #release()}.
 */
interface RequestBody {

    /**
     * Takes the next part.
     *
     * @param chunk taken
     * @throws dev.isthmus.oip.OipException when the request breaks the protocol
     */
    void add(ByteBuf chunk);

    /**
     * The body is complete.
     *
     * @throws dev.isthmus.oip.OipException when the request breaks the protocol or is not complete
     */
    void end();

    /**
     * The request as one that need not be gathered. Asked after each part until there is one; whoever begins it no longer asks
     * for {@link #prepare}.
     *
     * @return null until the head is known and checked, and for ever where the request must be gathered
     */
    default @Nullable StreamedRequest passing() {
        return null;
    }

    /** The request's own parameters; known after {@link #end()}, and as soon as it is {@link #passing()}. */
    Map<String, Parameter> parameters();

    /** The request's id; known as its parameters are. */
    String id();

    /** Whether the model must be known to make the message, so that {@link #describe} comes before {@link #prepare}. */
    default boolean needsMetadata() {
        return false;
    }

    /** Says what the model's inputs are. */
    default void describe(ModelMetadata metadata) {}

    /**
     * The request for a server, without copying what the body holds.
     *
     * @param model what the server is asked for
     * @throws dev.isthmus.oip.OipException when the server cannot be sent it
     */
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model);

    /** Bytes of memory that are held, until the body has ended; of one that passes, those that wait. */
    long held();

    /** Gives back what is held; may be called at any time and more than once. */
    void release();
}
