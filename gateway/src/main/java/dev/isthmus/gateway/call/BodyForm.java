package dev.isthmus.gateway.call;

/** The form of an inference request's body as the client sends it; its answer takes the same wire. */
public sealed interface BodyForm {

    /**
     * A REST body.
     *
     * @param jsonLength as in {@link dev.isthmus.transcoder.rest.RestBody#jsonLength()}
     */
    record Rest(long jsonLength) implements BodyForm {}

    /** One encoded ModelInferRequest, given in one piece. */
    record Protobuf() implements BodyForm {}
}
