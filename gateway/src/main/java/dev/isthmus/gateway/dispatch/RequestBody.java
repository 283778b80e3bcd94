package dev.isthmus.gateway.dispatch;

import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;

/** Gathers an inference request of one client wire into the message that goes to the upstream. */
interface RequestBody {

    /**
     * Takes the next part.
     *
     * @param chunk taken
     * @throws dev.isthmus.oip.OipException when the request breaks the protocol
     */
    void add(ByteBuf chunk);

    /**
     * The complete message, owned by the caller, on the upstream's wire.
     *
     * @throws dev.isthmus.oip.OipException when the request breaks the protocol or is not complete
     */
    InferMessage finish();

    /** How the client wants its outputs; known after {@link #finish()}. */
    OutputForms outputForms();

    /** Gives back what is held; may be called at any time and more than once. */
    void release();
}
