package dev.isthmus.gateway.shadow;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Map;

/** A request that was sent and can be encoded again for another server. Used on the call's event loop. */
public interface RequestSource {

    /** A request that is never copied. */
    RequestSource NONE = new RequestSource() {
        @Override
        public Map<String, Parameter> parameters() {
            return Map.of();
        }

        @Override
        public InferMessage prepare(ServerFeatures peer, ModelRef model) {
            throw OipException.invalid("requests of this kind are not copied");
        }

        @Override
        public void release() {}
    };

    /** The request's own parameters. */
    Map<String, Parameter> parameters();

    /**
     * Encodes the request again without copying its tensors.
     *
     * @return on the peer's wire; owned by the caller
     * @throws dev.isthmus.oip.OipException if it cannot be sent to the server
     */
    InferMessage prepare(ServerFeatures peer, ModelRef model);

    /** Releases the request. Called once, possibly before {@link Shadows#begin} returns. */
    void release();
}
