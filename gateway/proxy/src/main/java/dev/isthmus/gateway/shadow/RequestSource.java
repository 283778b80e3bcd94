package dev.isthmus.gateway.shadow;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Map;

/** A request that has been sent, and can be made again for another server. Used on the call's event loop. */
public interface RequestSource {

    /** The request's own parameters. */
    Map<String, Parameter> parameters();

    /**
     * The request once more, without copying what it is made of.
     *
     * @return on the peer's wire; who gets it owns it
     * @throws dev.isthmus.oip.OipException when the server cannot be sent it
     */
    InferMessage prepare(ServerFeatures peer, ModelRef model);

    /** Nothing more is asked. Called once, be it before {@link Shadows#begin} returns or later. */
    void release();
}
