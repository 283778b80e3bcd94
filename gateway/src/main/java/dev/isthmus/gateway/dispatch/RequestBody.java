package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
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

    /** Whether the model must be known to make the message, so that {@link #describe} comes before {@link #finish}. */
    default boolean needsMetadata() {
        return false;
    }

    /** Says what the model's inputs are. */
    default void describe(ModelMetadata metadata) {}

    /**
     * The complete message, owned by the caller, on the upstream's wire.
     *
     * @throws dev.isthmus.oip.OipException when the request breaks the protocol or is not complete
     */
    InferMessage finish();

    /** How the client wants its answer; known after {@link #finish()}. */
    AnswerForm answerForm();

    /** Gives back what is held; may be called at any time and more than once. */
    void release();
}
