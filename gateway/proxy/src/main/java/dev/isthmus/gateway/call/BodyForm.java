package dev.isthmus.gateway.call;

import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import org.jspecify.annotations.Nullable;

/** The form of an inference request's body as the client sends it; its answer takes the same wire. */
public sealed interface BodyForm {

    /**
     * A REST body.
     *
     * @param jsonLength as in {@link dev.isthmus.transcoder.rest.RestBody#jsonLength()}; 0 for a raw binary request, whose
     *     body is the one input's data
     * @param bodyLength of the whole body as it is taken in; -1 where it is not known before it ends
     * @param nonFinite how the client wants NaN and the infinities in JSON; null leaves it to the configuration
     */
    record RestForm(
            long jsonLength, long bodyLength, @Nullable NonFinite nonFinite) implements BodyForm {}

    /**
     * One encoded ModelInferRequest.
     *
     * @param outline what was seen of it on the way
     * @param inParts the checks of a message that is given in parts, the first of which has all its head, so that it need not be
     *     complete before it goes on; null for one that is given in one piece. Of this call only: it knows what has been checked
     */
    record ProtobufForm(
            ProtobufReader.Outline outline, @Nullable RawRequest inParts) implements BodyForm {}
}
