package dev.isthmus.gateway.call;

import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import org.jspecify.annotations.Nullable;

/** The form of an inference request's body as the client sends it. The response uses the same wire. */
public sealed interface BodyForm {

    /**
     * A REST body.
     *
     * @param jsonLength as in {@link dev.isthmus.transcoder.rest.RestBody#jsonLength()}; 0 for a raw binary request,
     *     whose body is the data of its one input
     * @param bodyLength length in bytes of the whole body, decompressed; -1 if it is unknown until the body ends
     * @param nonFinite how the client wants NaN and the infinities in JSON; null for the configured default
     */
    record RestForm(
            long jsonLength, long bodyLength, @Nullable NonFinite nonFinite) implements BodyForm {}

    /**
     * One encoded ModelInferRequest.
     *
     * @param outline what has been read of the message so far
     * @param inParts the checks of a message that is received in parts, the first part containing its whole head, so
     *     that it can be forwarded before it is complete; null for a message received in one piece. Holds the state of
     *     the checks, so it belongs to this call only
     */
    record ProtobufForm(
            ProtobufReader.Outline outline, @Nullable RawRequest inParts) implements BodyForm {}
}
