package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;

/** Puts a response on the connection, at once or in parts. */
interface ResponseWriter {

    /** The whole response; called once, or not at all. */
    void respond(RestResponse response);

    /** The head of a response whose body comes in parts; it may have a content-length. */
    void begin(RestResponse head);

    /** Whether a client can tell a body in parts that was aborted from one that is complete. */
    default boolean abortable() {
        return true;
    }

    /** Ends a response whose body cannot be completed, so that the client sees that. */
    void abort();

    /** The next part of the body (taken). */
    void part(ByteBuf part);

    /** The body is complete. */
    void endBody();

    /** Bytes of the body that were written and have not gone out. */
    long queued();

    /** Whether what is written goes out at once. */
    boolean isWritable();

    /** The request, which was {@linkplain RestExchange#paused() paused}, takes more of its body again. */
    void resumeRequest();
}
