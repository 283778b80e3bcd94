package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Wire;

/**
 * A server behind the gateway, or the local backend. Calls happen on the call's event loop, and so do the reply's
 * callbacks. Every failure arrives at the reply; nothing is thrown. The call's deadline is kept here.
 */
public interface Upstream extends AutoCloseable {

    /** The name from the configuration. */
    String name();

    /** The wire that {@link #infer} takes and answers on. */
    Wire wire();

    /** Whether a REST upstream knows the binary tensor data extension; meaningless on other wires. */
    default boolean binaryTensorData() {
        return false;
    }

    /**
     * Sends an inference request; the reply gets one {@code Answer.Inference} on {@link #wire()}.
     *
     * @param model the model and version to ask this upstream for
     * @param message on {@link #wire()}, taken
     */
    Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply);

    /** The reply gets one {@code Answer.Ready}: whether the server is ready. */
    Cancellation serverReady(Call call, Reply reply);

    /** The reply gets one {@code Answer.Server}. */
    Cancellation serverMetadata(Call call, Reply reply);

    /** The reply gets one {@code Answer.ModelReady}; a model unknown to the server is not ready. */
    Cancellation modelReady(Call call, ModelRef model, Reply reply);

    /** The reply gets one {@code Answer.Model}, or NOT_FOUND. */
    Cancellation modelMetadata(Call call, ModelRef model, Reply reply);

    /** Closes connections; calls under way fail with UNAVAILABLE. */
    @Override
    void close();
}
