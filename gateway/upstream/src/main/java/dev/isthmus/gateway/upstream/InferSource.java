package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Map;

/**
 * An inference request that can be produced for any server, without copying tensors. Each holder releases it once; used
 * on the event loop of its call.
 */
public interface InferSource {
    /** The id that a server gets, and has to repeat; empty for none. */
    String id();

    /** Whether it depends on the model's metadata, so that {@link #describe} must precede what produces it. */
    default boolean needsMetadata() {
        return false;
    }

    /** Sets the metadata of the model at the server that it is produced for next. */
    default void describe(ModelMetadata metadata) {}

    /**
     * The decoded request.
     *
     * @param server that it is meant for
     * @return with this model; borrowed
     * @throws dev.isthmus.oip.OipException if it is invalid, or cannot be expressed for the server
     */
    InferRequest decoded(Upstream server, ModelRef model);

    /**
     * The request as it is sent to a server, whose response the client gets.
     *
     * @return on the server's wire, owned by the caller
     * @throws dev.isthmus.oip.OipException as of {@link #decoded}
     */
    InferMessage encoded(Upstream server, ModelRef model);

    /**
     * The parameters of the outputs that are wanted in shared memory, by name, as far as the server that it was encoded
     * for last does not say them in its response.
     */
    default Map<String, Map<String, Parameter>> sharedOutputs() {
        return Map.of();
    }

    /** As {@link #encoded}, for a server whose response the client does not get. */
    InferMessage copied(ServerFeatures server, ModelRef model);

    /** One more holder. */
    void retain();

    void release();
}
